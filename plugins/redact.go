package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// MaxPayload is how many bytes plugins are given to edit. A larger payload is a
// failure of each plugin that should have seen it.
const MaxPayload = 4 << 20

// Redact calls redact of each plugin, each with what the one before left, and before
// that post_tool for the output of a tool on its way to the model. An error says
// that a plugin failed whose on_error is not skip, or that one did not look that has
// to ([event.Demanded]). What is no session's in the server's own log passes: the
// plugins' own lines stand there. The end of ctx does not count: what is stored
// while a session ends is covered as anything else.
func (h *Host) Redact(ctx context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Sink == event.SinkPlugin || p.Sink == event.SinkLog && p.Origin == nil {
		return p.Data, nil, nil
	}
	output, demanded := p.Sink == event.SinkModel && p.Kind == event.ToolResult, event.Demanded(ctx)
	if len(demanded) == 0 && len(h.at(RedactHook)) == 0 && !(output && len(h.at(PostTool)) > 0) {
		return p.Data, nil, nil // most have no such plugin, and this is the way of all events
	}
	w := editor{host: h, ctx: context.WithoutCancel(ctx), payload: p}
	if output {
		if err := w.pass(PostTool); err != nil {
			return nil, nil, err
		}
	}
	if err := w.missed(demanded); err != nil {
		return nil, nil, err
	}
	if err := w.pass(RedactHook); err != nil {
		return nil, nil, err
	}
	return w.payload.Data, w.found, nil
}

// editor leads one payload past the plugins.
type editor struct {
	host    *Host
	ctx     context.Context
	payload event.Payload
	found   []event.Redaction
	seen    []string // plugins that looked at it by post_tool
}

// missed is an error where a plugin did not look that a policy wants to.
func (w *editor) missed(demanded []string) error {
	for _, name := range demanded {
		if !slices.Contains(w.seen, name) {
			return fmt.Errorf("plugin %q: post_tool: a policy wants it to see this output (obligation run_plugin), and it did not", name)
		}
	}
	return nil
}

// pass leads it past the plugins of a hook.
func (w *editor) pass(hook Hook) error {
	plugins, release := w.host.hold(hook)
	defer release()
	for _, p := range plugins {
		data, found, err := w.edit(p, hook)
		if err == nil {
			w.payload.Data, w.found = data, append(w.found, found...)
			if hook == PostTool {
				w.seen = append(w.seen, p.config.Name)
			}
			continue
		}
		if p.config.OnError != ErrorSkips {
			return err
		}
		w.host.log.Warn("plugin failed, and the payload passes without it (on_error = skip)",
			slog.String("plugin", p.config.Name), slog.String("hook", string(hook)), slog.String("error", visible(err.Error())))
	}
	return nil
}

// edit has one plugin see the payload, and applies what it says.
func (w *editor) edit(p *plugin, hook Hook) (data json.RawMessage, found []event.Redaction, err error) {
	in := w.payload.Data
	switch {
	case len(in) > MaxPayload:
		return nil, nil, fmt.Errorf("plugin %q: %s: the payload has %d bytes, plugins are given at most %d", p.config.Name, hook, len(in), MaxPayload)
	case rawjson.Deeper(in, event.MaxDepth):
		return nil, nil, fmt.Errorf("plugin %q: %s: the payload is nested deeper than %d levels", p.config.Name, hook, event.MaxDepth)
	}
	doc := newDocument(hook, payloadMembers(&w.payload))
	d := editing{plugin: p.config.Name, marked: marked(&w.payload), shaped: w.payload.Sink == event.SinkModel}
	session := ""
	if w.payload.Origin != nil {
		session = w.payload.Origin.SessionID
	}
	_, err = p.callFor(w.ctx, hook, doc, session, func(o Outcome) error {
		edits, err := decodeEdits(o.Output)
		if err == nil {
			data, err = d.apply(in, edits)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	d.sort()
	return data, d.found, nil
}

// payloadMembers is what plugins see of a payload.
func payloadMembers(p *event.Payload) members {
	m := members{}
	m.origin(p.Origin)
	m.put("tool_name", p.Tool)
	m.put("kind", string(p.Kind))
	m.put("sink", string(p.Sink))
	m.put("is_error", p.IsError)
	m.raw("payload", p.Data)
	return m
}

// authored are the kinds in which a plugin's own text may stand: what the model and
// its tools wrote. Everything else is what people decide by, or look up later:
// nobody is to read a plugin's words there and take them for ours.
var authored = []event.Kind{event.Output, event.ToolResult, event.Partial, event.Result}

func marked(p *event.Payload) bool {
	return !slices.Contains(authored, p.Kind) || p.Sink != event.SinkEvent && p.Sink != event.SinkModel
}
