package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// checkedServer is a server of tools in this process, as sessions would meet it.
type checkedServer struct {
	Name   string        `json:"name"`
	Source string        `json:"source"`           // "gatehouse", of [[mcp_server]], or "plugin"
	Target string        `json:"target,omitempty"` // the program that was started, or the URL
	Status string        `json:"status"`           // "ok" or "failed"
	Error  string        `json:"error,omitempty"`
	MS     int64         `json:"ms"` // to start it, shake hands, list its tools and end it
	Tools  []checkedTool `json:"tools"`

	Unmatched []string `json:"unmatched,omitempty"` // entries of its key tools that name no tool it has
}

// checkedTool is one of its tools.
type checkedTool struct {
	Name    string `json:"name"` // as sessions and policies call it
	Offered bool   `json:"offered"`
	LeftOut string `json:"leftOut,omitempty"` // why it is not
}

// The sources of servers, as policies know them.
const (
	sourceServers = "gatehouse"
	sourcePlugin  = "plugin"
)

// maxDescribed bounds an error of a server that is told, in characters.
const maxDescribed = 500

// tryServers starts each server of [[mcp_server]] once and lists its tools, and those
// of plugins. An error is one that serve would refuse to start with.
func (k *check) tryServers(ctx context.Context, r *rollout, logger *slog.Logger) error {
	s := k.settings
	k.report.Warnings = append(k.report.Warnings, s.serverWarnings()...)
	logger, hush := hushing(logger)
	defer hush()
	servers, err := openServers(s, nil, k.env, logger)
	if err != nil {
		return err
	}
	defer servers.close(logger)
	cover := policy.NewRedactor(r.live, policy.RedactorOptions{Options: s.redaction.options})
	k.report.Servers = append(servers.tried(ctx, cover), k.plugins.offered()...)
	if len(k.report.Servers) > 0 {
		k.show(k.serversText)
	}
	return nil
}

// tried starts all servers, at once.
func (t *toolServers) tried(ctx context.Context, cover event.Redactor) []checkedServer {
	if t == nil {
		return nil
	}
	all := make([]checkedServer, len(t.list))
	var wg sync.WaitGroup
	for i, s := range t.list {
		wg.Go(func() { all[i] = s.try(ctx).covered(ctx, cover) }) // ends with the server's start_timeout
	}
	wg.Wait()
	return all
}

// endMargin is what a server gets to end after its tools were listed.
const endMargin = 10 * time.Second

func (s namedServer) try(ctx context.Context) checkedServer {
	ctx, cancel := context.WithTimeout(ctx, s.config.StartTimeout+endMargin)
	defer cancel()
	c := checkedServer{Name: s.name, Source: sourceServers, Target: plainURL(s.config.URL), Status: gateOK, Tools: []checkedTool{}}
	if len(s.config.Command) > 0 {
		c.Target = s.config.Command[0]
	}
	begin := time.Now()
	tools, err := s.Tools(ctx)
	c.MS = time.Since(begin).Milliseconds()
	if err != nil {
		text := strings.TrimPrefix(err.Error(), fmt.Sprintf("mcp server %q: ", s.name)) // which the row begins with
		c.Status, c.Error = gateFailed, shorten(text, maxDescribed)
		return c
	}
	for _, tool := range tools {
		c.Tools = append(c.Tools, checkedTool{fullName(s.name, tool.Name), tool.Offered, tool.LeftOut})
	}
	c.Unmatched = unmatched(s.config.Tools, tools)
	return c
}

// plainURL is a URL without what may be a secret in it.
func plainURL(address string) string {
	plain, _, more := strings.Cut(address, "?")
	if more {
		plain += "?…"
	}
	return plain
}

// unmatched are the patterns that name none of the tools: mostly misspelled ones.
func unmatched(patterns []string, tools []upstream.Tool) (none []string) {
	for _, p := range patterns {
		form, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*") + "$")
		if err == nil && !slices.ContainsFunc(tools, func(t upstream.Tool) bool { return form.MatchString(t.Name) }) {
			none = append(none, p)
		}
	}
	return none
}

func fullName(server, tool string) string { return "mcp__" + server + "__" + tool }

// offered are the servers of plugins.
func (p *pluginHost) offered() (all []checkedServer) {
	if p == nil {
		return nil
	}
	for _, info := range p.Plugins() {
		if len(info.Tools) == 0 {
			continue
		}
		c := checkedServer{Name: info.Name, Source: sourcePlugin, Target: info.Path, Status: gateOK}
		for _, tool := range info.Tools {
			c.Tools = append(c.Tools, checkedTool{Name: fullName(info.Name, tool), Offered: true})
		}
		all = append(all, c)
	}
	return all
}

// covered is c without secrets: a report is kept, and a server may tell anything.
func (c checkedServer) covered(ctx context.Context, by event.Redactor) (safe checkedServer) {
	data, err := json.Marshal(c)
	if err == nil {
		data, _, err = by.Redact(context.WithoutCancel(ctx), event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: data})
	}
	if err == nil {
		err = json.Unmarshal(data, &safe)
	}
	if err != nil {
		return checkedServer{Name: c.Name, Source: c.Source, Status: gateFailed, Error: "withheld, as covering secrets in it failed: " + err.Error(), Tools: []checkedTool{}}
	}
	return safe
}

func (k *check) serversText() {
	k.title("Tools of this process, offered to sessions as policies allow")
	for _, s := range k.report.Servers {
		switch {
		case s.Status != gateOK:
			k.row("FAILED", fmt.Sprintf("mcp_server %q (%s): %s", s.Name, s.Target, s.Error))
		case s.Source == sourcePlugin:
			k.row(gateOK, "plugin "+s.Name)
		default:
			k.row(gateOK, fmt.Sprintf("mcp_server %s  %s, %s in %d ms", s.Name, s.Target, plural(len(s.Tools), "tool"), s.MS))
		}
		for _, t := range s.Tools {
			if t.Offered {
				k.row("tool", t.Name)
			} else {
				k.row("left out", t.Name+"  "+orWord(t.LeftOut, "tools does not name it"))
			}
		}
		for _, p := range s.Unmatched {
			k.row("warning", fmt.Sprintf("mcp_server %q: tools: %q names none of its tools; write names as the server does", s.Name, p))
		}
	}
	for _, w := range k.settings.serverWarnings() {
		k.row("warning", w)
	}
}

// failedServer names the first server that could not be reached; empty: none.
func (r *checkReport) failedServer() string {
	for _, s := range r.Servers {
		if s.Status != gateOK {
			return s.Name
		}
	}
	return ""
}
