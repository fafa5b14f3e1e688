package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginReport is what plugin check found: the object of --json. Parts that were
// not reached are absent.
type pluginReport struct {
	OK       bool            `json:"ok"`
	ExitCode int             `json:"exitCode"`
	Error    string          `json:"error,omitempty"` // why it does not load
	Name     string          `json:"name"`            // made of the file's
	File     string          `json:"file"`
	SHA256   string          `json:"sha256"`
	Bytes    int             `json:"bytes"`
	Imports  []moduleImport  `json:"imports,omitempty"`
	Exports  []moduleExport  `json:"exports,omitempty"`
	Hooks    []plugins.Hook  `json:"hooks,omitempty"`
	Tools    []string        `json:"tools,omitempty"`
	Limits   pluginLimits    `json:"limits"`
	Compile  int64           `json:"compileMicros,omitempty"`
	Start    int64           `json:"startMicros,omitempty"` // until the first call can be made, compiling aside
	Calls    []pluginOutcome `json:"calls,omitempty"`       // a sample call of each hook
	TOML     string          `json:"toml,omitempty"`        // to be pasted into the configuration
}

type moduleImport struct {
	Module string `json:"module"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

type moduleExport struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"`
}

// pluginLimits are those the calls were made under.
type pluginLimits struct {
	Timeout     string `json:"timeout"`
	ToolTimeout string `json:"toolTimeout"`
	Memory      int64  `json:"memoryBytes"`
}

// pluginCheck says whether a module would load, and what it does.
func (c *command) pluginCheck(ctx context.Context, args []string) int {
	o := c.pluginFlagSet("check", "check FILE.wasm", "Loads a module as a server would, calls each of its hooks with a sample document,\nand prints the [[plugin]] to paste.")
	o.limits()
	err := c.parsePlugin(o, args)
	if errors.Is(err, flag.ErrHelp) {
		return pluginDone
	}
	if err == nil && len(o.rest) != 1 {
		err = fmt.Errorf("plugin check takes one file, got %s", plural(len(o.rest), "word"))
	}
	if err != nil {
		return c.failUsage(err)
	}
	t, err := tryPlugin(o.rest[0], o)
	if t == nil {
		return c.failUsage(fmt.Errorf("plugin check: %w", err))
	}
	r := newPluginReport(t)
	if err == nil {
		t.config.KV = t.config.KV || t.imports("kv")
		err = t.load(ctx, newLogger(c.stderr, slog.LevelWarn))
		defer t.close()
	}
	if err != nil {
		r.ExitCode, r.Error = pluginFailed, err.Error()
	} else {
		r.loaded(ctx, t, o)
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return c.printPlugin(r, o)
}

func newPluginReport(t *triedPlugin) *pluginReport {
	r := &pluginReport{
		Name: t.config.Name, File: t.config.Path, SHA256: t.config.SHA256, Bytes: t.bytes,
		Limits: pluginLimits{Timeout: t.config.Timeout.String(), ToolTimeout: t.config.ToolTimeout.String(), Memory: t.config.Memory},
	}
	for _, i := range t.prepared.Imports {
		r.Imports = append(r.Imports, moduleImport{i.Module, i.Name, i.Type})
	}
	for _, e := range t.prepared.Exports {
		r.Exports = append(r.Exports, moduleExport{e.Name, e.Kind, e.Type})
	}
	return r
}

// loaded fills in what a module that loads tells, and calls it.
func (r *pluginReport) loaded(ctx context.Context, t *triedPlugin, o *pluginFlags) {
	info := t.host.Plugins()[0]
	r.OK, r.Hooks, r.Tools = true, info.Hooks, info.Tools
	r.Compile, r.Start = info.Compiled.Microseconds(), (t.took - info.Compiled).Microseconds()
	for _, hook := range info.Hooks {
		call := t.call(ctx, hook, sample(hook, info.Tools))
		if !call.OK {
			r.OK, r.ExitCode = false, pluginFailed
		}
		r.Calls = append(r.Calls, call)
	}
	r.TOML = pasted(t, info.Hooks, o)
}

// pastedPlugin is a [[plugin]] as it is written for people: what is as it would be
// anyway is left out.
type pastedPlugin struct {
	Name    string         `toml:"name"`
	Path    string         `toml:"path"`
	SHA256  string         `toml:"sha256"`
	Hooks   []plugins.Hook `toml:"hooks"`
	Timeout string         `toml:"timeout,omitempty"`
	Memory  string         `toml:"memory,omitempty"`
	KV      bool           `toml:"kv,omitempty"`
	Data    []string       `toml:"data,omitempty"`
	Config  map[string]any `toml:"config,omitempty"`
}

// pasted is the [[plugin]] for a module.
func pasted(t *triedPlugin, hooks []plugins.Hook, o *pluginFlags) string {
	p := pastedPlugin{
		Name: t.config.Name, Path: t.config.Path, SHA256: t.config.SHA256, Hooks: hooks, Timeout: o.timeout, Memory: o.memory,
		KV: t.config.KV, Data: t.config.Data,
	}
	p.Config, _ = objectOrFile(o.config) // read once already
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(map[string][]pastedPlugin{pluginKey: {p}}); err != nil { // a null in --config: TOML has none
		b.Reset()
		p.Config = nil
		_ = e.Encode(map[string][]pastedPlugin{pluginKey: {p}})
	}
	return strings.TrimLeft(b.String(), "\n")
}

// printPlugin prints the report and returns the exit code.
func (c *command) printPlugin(r *pluginReport, o *pluginFlags) int {
	if o.json {
		if err := c.printJSON(r); err != nil {
			return c.fail(pluginWrong, err)
		}
		return r.ExitCode
	}
	if r.Error != "" {
		c.say("%s  %s does not load", c.mark(false), shortPath(r.File))
		for line := range strings.SplitSeq(r.Error, "\n") {
			c.say("  %s", line)
		}
	} else {
		c.say("%s  %s loads", c.mark(true), shortPath(r.File))
	}
	c.pluginFacts(r)
	if len(r.Calls) > 0 {
		c.say("sample calls")
	}
	for _, call := range r.Calls {
		c.outcomeText(call)
	}
	if r.TOML != "" {
		fmt.Fprintf(c.stdout, "to put it in force, add to gatehouse.toml:\n\n%s\n", escapeLines(r.TOML))
		c.next("gatehouse plugin run %s %s < document.json   then gatehouse check", shellWord(shortPath(r.File)), string(r.Hooks[0]))
	}
	return r.ExitCode
}

// pluginFacts prints what is known of a module.
func (c *command) pluginFacts(r *pluginReport) {
	row := func(word, format string, args ...any) { c.say("  %-8s "+format, append([]any{word}, args...)...) }
	row("sha256", "%s", r.SHA256)
	row("size", "%s", sizeText(int64(r.Bytes)))
	if r.Imports != nil {
		row("imports", "%s", importWords(r.Imports))
	}
	if r.Exports != nil {
		row("exports", "%s", exportWords(r.Exports))
	}
	row("limits", "timeout %s, of tools_call %s, memory %s", r.Limits.Timeout, r.Limits.ToolTimeout, sizeText(r.Limits.Memory))
	if r.Error != "" {
		return
	}
	row("hooks", "%s", hookWords(r.Hooks))
	if len(r.Tools) > 0 {
		row("tools", "%s", strings.Join(r.Tools, ", "))
	}
	row("took", "%.1f ms to compile, %.1f ms to start", float64(r.Compile)/1000, float64(r.Start)/1000)
}

// importWords lists imports by module; those of WASI, which are stubs, by number.
func importWords(imports []moduleImport) string {
	by, order := map[string][]string{}, []string{}
	for _, i := range imports {
		if by[i.Module] == nil {
			order = append(order, i.Module)
		}
		by[i.Module] = append(by[i.Module], i.Name)
	}
	slices.Sort(order)
	for n, m := range order {
		if order[n] = m + " (" + strings.Join(by[m], ", ") + ")"; m == "wasi_snapshot_preview1" {
			order[n] = fmt.Sprintf("%s (%d stubs)", m, len(by[m]))
		}
	}
	if len(order) == 0 {
		return "nothing"
	}
	return strings.Join(order, ", ")
}

func exportWords(exports []moduleExport) string {
	words := make([]string, len(exports))
	for i, e := range exports {
		words[i] = strings.TrimSpace(e.Name + " " + e.Type)
	}
	return orWord(strings.Join(words, ", "), "nothing")
}
