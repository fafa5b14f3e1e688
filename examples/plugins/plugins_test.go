// Package plugins_test runs the example plugins as modules, in the host that the
// server has. Each example's own tests run natively.
package plugins_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testguest"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }

// load builds an example and loads it, with time enough for a busy machine.
func load(t *testing.T, folder string, c plugins.Config, data map[string]any) *plugins.Host {
	t.Helper()
	c.Name, c.Path = strings.ReplaceAll(folder, "-", "_"), testguest.Go(t, folder)
	c.AllowUnpinned, c.Timeout = true, plugins.MaxTimeout
	host, err := plugins.Load(t.Context(), plugins.Options{Plugins: []plugins.Config{c}, Data: func() map[string]any { return data }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := host.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return host
}

func check(t *testing.T, what string, list []permission.Annotation, verdict permission.Effect) {
	t.Helper()
	if len(list) != 1 || list[0].Error != "" || list[0].Verdict != verdict || list[0].Binding != (verdict >= permission.Ask) {
		t.Errorf("%s: %+v, want %s", what, list, verdict)
	}
}

func TestNoForcePush(t *testing.T) {
	host := load(t, "no-force-push", plugins.Config{}, nil)
	for command, verdict := range map[string]permission.Effect{
		"git push origin main":                         permission.Abstain,
		"git push --force":                             permission.Deny,
		"git fetch && git push origin +main":           permission.Deny,
		"git push --force-with-lease":                  permission.Ask,
		"echo " + strings.Repeat("x", 100_000) + " -f": permission.Abstain,
	} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		check(t, command[:min(len(command), 40)], host.Annotate(t.Context(), permission.Request{Tool: "Bash", Input: input}), verdict)
	}
}

func TestTicketRequired(t *testing.T) {
	host := load(t, "ticket-required", plugins.Config{
		Config: json.RawMessage(`{"projects": ["OPS"]}`), Data: []string{"tickets.open"},
	}, map[string]any{"tickets": map[string]any{"open": []any{"OPS-12"}, "closed": []any{"OPS-13"}}})
	for prompt, verdict := range map[string]permission.Effect{
		`"OPS-12: rotate"`: permission.Abstain,
		`"OPS-13: rotate"`: permission.Deny,
		`"rotate"`:         permission.Deny,
	} {
		r := admission.Request{Action: admission.Start, Parameters: map[string]json.RawMessage{"prompt": json.RawMessage(prompt)}}
		check(t, prompt, host.AnnotateAdmission(t.Context(), r), verdict)
	}
	if list := host.AnnotateAdmission(t.Context(), admission.Request{Action: admission.List}); len(list) != 0 {
		t.Errorf("it was asked about a list: %+v", list)
	}
}

func TestInternalHostnames(t *testing.T) {
	host := load(t, "internal-hostnames", plugins.Config{Config: json.RawMessage(`{"domains": ["corp.example"]}`)}, nil)
	payload := json.RawMessage(`{"list":[{"text":"öffne db1.corp.example: \"ja\""}],"to":"www.example.com","n":1.50}`)
	got, found, err := host.Redact(t.Context(), event.Payload{Sink: event.SinkEvent, Kind: event.Output, Origin: &event.Origin{SessionID: "s"}, Data: payload})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"list":[{"text":"öffne [REDACTED:plugin.internal_hostnames.host]: \"ja\""}],"n":1.50,"to":"www.example.com"}`
	if string(got) != want || len(found) != 1 || found[0].Pointer != "/list/0/text" {
		t.Errorf("%s, %+v; want %s", got, found, want)
	}
}

func TestCostGuard(t *testing.T) {
	host := load(t, "cost-guard", plugins.Config{
		KV: true, Config: json.RawMessage(`{"limit_usd": 0.5}`), Events: []event.Kind{event.Result, event.Error},
	}, nil)
	read := permission.Request{SessionID: "s", Tool: "Read", Input: json.RawMessage(`{}`)}
	ended := func(id int64) {
		host.Observe(&event.Origin{SessionID: "s"}, event.Event{ID: id, Type: event.Result, Data: json.RawMessage(`{"totalCostUsd":0.25}`)})
	}
	ended(1)
	check(t, "below the limit", host.Annotate(t.Context(), read), permission.Abstain)
	ended(2) // the next call waits until it was counted
	check(t, "over the limit", host.Annotate(t.Context(), read), permission.Deny)
	check(t, "a reply", host.AnnotateAdmission(t.Context(), admission.Request{Action: admission.Reply, SessionID: "s"}), permission.Deny)
	check(t, "a new session", host.AnnotateAdmission(t.Context(), admission.Request{Action: admission.Start}), permission.Abstain)
	read.SessionID = "another"
	check(t, "another session", host.Annotate(t.Context(), read), permission.Abstain)
}

// Without kv the guard cannot know, so it denies.
func TestCostGuardWithoutKV(t *testing.T) {
	host := load(t, "cost-guard", plugins.Config{Config: json.RawMessage(`{"limit_usd": 0.5}`)}, nil)
	list := host.Annotate(t.Context(), permission.Request{SessionID: "s", Tool: "Read", Input: json.RawMessage(`{}`)})
	if len(list) != 1 || list[0].Verdict != permission.Deny || list[0].Error == "" {
		t.Errorf("%+v", list)
	}
}

func TestCalc(t *testing.T) {
	host := load(t, "calc", plugins.Config{}, nil)
	if list := host.Tools(); len(list) != 4 || list[0].Name != "add" || !strings.Contains(string(list[0].Annotations), "readOnlyHint") {
		t.Fatalf("tools %+v", list)
	}
	for tool, want := range map[string]string{
		"multiply": `{"content":[{"type":"text","text":"10"}]}`,
		"divide":   `{"content":[{"type":"text","text":"2.5"}]}`,
	} {
		got, err := host.CallTool(t.Context(), "calc", tool, "", json.RawMessage(`{"a": 5, "b": 2}`))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", tool, got, err, want)
		}
	}
	got, err := host.CallTool(t.Context(), "calc", "divide", "", json.RawMessage(`{"a": 5, "b": 0}`))
	if err != nil || string(got) != `{"content":[{"type":"text","text":"division by zero"}],"isError":true}` {
		t.Errorf("division by zero: %s, %v", got, err)
	}
	if got, err := host.CallTool(t.Context(), "calc", "power", "", nil); err == nil {
		t.Errorf("a tool that is not there: %s", got)
	}
}
