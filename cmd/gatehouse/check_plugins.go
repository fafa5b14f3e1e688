package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/plugins"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// checkedPlugin is a plugin as serve would run it.
type checkedPlugin struct {
	Name      string          `json:"name"`
	Path      string          `json:"path"`
	SHA256    string          `json:"sha256"`
	Pinned    bool            `json:"pinned"`
	Hooks     []plugins.Hook  `json:"hooks"`
	Order     int             `json:"order"`
	Binding   string          `json:"binding"`
	OnError   string          `json:"onError"`
	Timeout   string          `json:"timeout"`
	Memory    int64           `json:"memoryBytes"`
	Tools     []string        `json:"tools,omitempty"` // by their own names, see servers of the report
	CompileMS int64           `json:"compileMs"`
	Calls     []pluginOutcome `json:"calls"` // a sample call of each hook
}

// loadPlugins loads the plugins as serve does and calls each hook with a sample. An
// error is one that serve would refuse to start with.
func (k *check) loadPlugins(ctx context.Context, r *rollout, logger *slog.Logger) error {
	s := k.settings
	k.report.Warnings = append(k.report.Warnings, s.pluginWarnings()...)
	redactor := policy.NewRedactor(r.live, policy.RedactorOptions{Options: s.redaction.options})
	logger, hush := hushing(logger)
	host, err := openPlugins(ctx, s, redactor, r.policyData, nil, logger)
	hush()
	if err != nil || host == nil {
		return err
	}
	k.plugins = host
	for _, info := range host.Plugins() {
		p := checkedPlugin{
			Name: info.Name, Path: info.Path, SHA256: info.SHA256, Pinned: info.Pinned, Hooks: info.Hooks, Order: info.Order,
			Binding: string(info.Binding), OnError: string(info.OnError), Timeout: info.Timeout.String(), Memory: info.Memory,
			Tools: info.Tools, CompileMS: info.Compiled.Milliseconds(),
		}
		t := triedPlugin{host: host.Host, config: plugins.Config{Name: info.Name}}
		for _, hook := range info.Hooks {
			p.Calls = append(p.Calls, t.call(ctx, hook, sample(hook, info.Tools)).covered(ctx, redactor))
		}
		k.report.Plugins = append(k.report.Plugins, p)
	}
	k.show(k.pluginText)
	return nil
}

// covered is an outcome without secrets: a report is kept, and a plugin may repeat
// its configuration or data.
func (o pluginOutcome) covered(ctx context.Context, by event.Redactor) (safe pluginOutcome) {
	data, err := json.Marshal(o)
	if err == nil {
		data, _, err = by.Redact(ctx, event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: data})
	}
	if err == nil {
		err = json.Unmarshal(data, &safe)
	}
	if err != nil {
		return pluginOutcome{Hook: o.Hook, Error: "withheld, as covering secrets in it failed: " + err.Error()}
	}
	return safe
}

func (k *check) pluginText() {
	k.title("Plugins, heard before the policies")
	for _, p := range k.report.Plugins {
		pin := "not pinned"
		if p.Pinned {
			pin = "pinned"
		}
		k.row(gateOK, fmt.Sprintf("%s  sha256 %.12s %s, %s; binding %s, on_error %s, timeout %s, memory %s; compiled in %d ms",
			p.Name, p.SHA256, pin, hookWords(p.Hooks), p.Binding, p.OnError, p.Timeout, sizeText(p.Memory), p.CompileMS))
		if len(p.Tools) > 0 {
			k.row("tools", p.Name+"  "+strings.Join(p.Tools, ", "))
		}
		for _, c := range p.Calls {
			k.row(sampleWord(c), fmt.Sprintf("%s  %s with a sample, %d µs  %s", p.Name, c.Hook, c.Micros, cut(c.Error+c.Reason, reasonShown)))
		}
	}
	for _, w := range k.settings.pluginWarnings() {
		k.row("warning", w)
	}
}

// sampleWord is the verdict of a sample call. One that fails is no failure of the
// check: the sample may hold what the plugin never meets.
func sampleWord(c pluginOutcome) string {
	if !c.OK {
		return "failed"
	}
	return orWord(c.Verdict, "done")
}
