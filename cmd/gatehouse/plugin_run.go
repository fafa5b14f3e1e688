package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// maxRunInput bounds one document of plugin run, in bytes.
const maxRunInput = 64 << 20

// pluginRun calls a module with documents from standard input.
func (c *command) pluginRun(ctx context.Context, args []string) int {
	o := c.pluginFlagSet("run", "run FILE.wasm HOOK", "Calls HOOK once for each JSON object on standard input; without one, with an\n"+
		"empty document. What all documents have is put in. All are of one session, so\nwith --kv later calls see what earlier ones kept.")
	o.limits()
	err := c.parsePlugin(o, args)
	if errors.Is(err, flag.ErrHelp) {
		return pluginDone
	}
	if err == nil && len(o.rest) != 2 {
		err = fmt.Errorf("plugin run takes a file and a hook, got %s", plural(len(o.rest), "word"))
	}
	if err != nil {
		return c.failUsage(err)
	}
	hook := plugins.Hook(o.rest[1])
	if !slices.Contains(plugins.Hooks, hook) {
		return c.failUsage(fmt.Errorf("plugin run: hook %q is unknown, want one of %s", hook, hookNames(plugins.Hooks)))
	}
	t, err := tryPlugin(o.rest[0], o)
	switch {
	case err != nil && t == nil:
		return c.failUsage(fmt.Errorf("plugin run: %w", err))
	case err == nil:
		err = t.load(ctx, newLogger(c.stderr, slog.LevelWarn))
		defer t.close()
	}
	if err == nil && !slices.ContainsFunc(t.host.Plugins(), func(p plugins.Info) bool { return slices.Contains(p.Hooks, hook) }) {
		err = fmt.Errorf("plugin %q: does not export %s", t.config.Name, hook)
	}
	if err != nil {
		return c.pluginNotLoaded(ctx, err)
	}
	return c.pluginDocuments(ctx, t, hook, o.json)
}

// pluginNotLoaded reports a module that cannot be called.
func (c *command) pluginNotLoaded(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if c.asJSON && c.printJSON(policyError{ExitCode: pluginFailed, Error: err.Error()}) == nil {
		return pluginFailed
	}
	return c.fail(pluginFailed, err)
}

// pluginDocuments calls a hook for each document and prints what came of it.
func (c *command) pluginDocuments(ctx context.Context, t *triedPlugin, hook plugins.Hook, asJSON bool) int {
	code := pluginDone
	bound := &io.LimitedReader{R: c.stdin}
	in := json.NewDecoder(bound)
	for n := 0; ; n++ {
		bound.N = maxRunInput + 1
		document, err := nextDocument(in, n)
		if bound.N == 0 && err != nil {
			err = fmt.Errorf("over %d MiB, more than a document may have", maxRunInput>>20)
		}
		if errors.Is(err, io.EOF) {
			return code
		}
		if err != nil {
			return c.failUsage(fmt.Errorf("plugin run: document %d: %w", n+1, err))
		}
		out := t.call(ctx, hook, document)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		if !out.OK {
			code = pluginFailed
		}
		if !asJSON {
			c.outcomeText(out)
		} else if err := c.printJSON(out); err != nil {
			return c.fail(pluginWrong, err)
		}
	}
}

// nextDocument reads one object. An input without any is one that is empty.
func nextDocument(in *json.Decoder, n int) (json.RawMessage, error) {
	var raw json.RawMessage
	var document map[string]json.RawMessage
	switch err := in.Decode(&raw); {
	case errors.Is(err, io.EOF) && n == 0:
		document = map[string]json.RawMessage{}
	case err != nil:
		return nil, err
	default:
		if kind := rawjson.Kind(raw); kind != "an object" {
			return nil, fmt.Errorf("want a JSON object, found %s", kind)
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			return nil, err
		}
	}
	if document["session"] == nil {
		document["session"] = json.RawMessage(`{"id":"run"}`)
	}
	return json.Marshal(document)
}
