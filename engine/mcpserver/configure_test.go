package mcpserver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// configurable is a client of a server that offers claude_code_configure over an
// engine whose admission policy refuses the given action.
func configurable(t *testing.T, refuses string, o Options) *mcp.ClientSession {
	t.Helper()
	eng, err := engine.New(engine.Options{
		Roots: []string{t.TempDir()}, TempDir: t.TempDir(), Deciders: []permission.Decider{rules{}}, BypassTTL: time.Hour,
		Admission: []admission.Decider{admission.DeciderFunc(func(_ context.Context, r admission.Request) (permission.Decision, error) {
			if r.Action == admission.Configure && string(r.Parameters["action"]) == `"`+refuses+`"` {
				return permission.Decision{Effect: permission.Deny, Rule: "test.grant", Reason: "it needs a grant"}, nil
			}
			return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return connectTo(t, t.Context(), New(eng, &o))
}

func TestConfigure(t *testing.T) {
	c := configurable(t, "", Options{Configure: true})
	for _, step := range []struct {
		action  string
		enabled bool
	}{{"get_config", false}, {"enable_bypass", true}, {"get_config", true}, {"disable_bypass", false}, {"disable_bypass", false}} {
		before := time.Now()
		m := must(t, c, configureTool, `{"action":"`+step.action+`"}`)
		expires, dated := m["expiresAt"].(string)
		if m["allowBypass"] != step.enabled || dated != step.enabled || m["message"] == "" || m["isError"] != nil {
			t.Errorf("%s: %v", step.action, m)
		}
		if end, err := time.Parse(time.RFC3339, expires); dated && (err != nil || end.Before(before) || end.After(time.Now().Add(time.Hour))) {
			t.Errorf("%s ends %s, %v", step.action, expires, err)
		}
	}
}

// TestConfigureRefused: a refusal has the common shape, and tells what holds: of a
// disabling that is refused nobody must think that it worked.
func TestConfigureRefused(t *testing.T) {
	for _, row := range []struct {
		refuses, args, code, want string
		enabled                   bool
	}{
		{"enable_bypass", `{"action":"enable_bypass"}`, "PERMISSION_DENIED", "test.grant", false},
		{"disable_bypass", `{"action":"disable_bypass"}`, "PERMISSION_DENIED", "test.grant", true},
		{"get_config", `{"action":"get_config"}`, "PERMISSION_DENIED", "test.grant", false},
		{"enable_bypass", `{"action":"enable"}`, "INVALID_ARGUMENT", "enable_bypass", false},
		{"enable_bypass", `{}`, "INVALID_ARGUMENT", "action: is required", false},
		{"enable_bypass", `{"action":"get_config","ttl":"24h"}`, "INVALID_ARGUMENT", `"ttl": unknown argument`, false},
		{"enable_bypass", `{"Action":"get_config"}`, "INVALID_ARGUMENT", `"Action": unknown argument`, false},
	} {
		c := configurable(t, row.refuses, Options{Configure: true})
		if row.refuses != "enable_bypass" {
			must(t, c, configureTool, `{"action":"enable_bypass"}`)
		}
		m, isError := use(t, c, configureTool, row.args)
		if !isError || m["isError"] != true || m["code"] != row.code || m["allowBypass"] != row.enabled || m["message"] != m["error"] {
			t.Errorf("%s: %v", row.args, m)
		}
		if !strings.Contains(m["error"].(string), row.want) {
			t.Errorf("%s: %v lacks %s", row.args, m["error"], row.want)
		}
	}
}

// TestConfigureIsOffered only where it was asked for, and as something that a client
// must not do by itself.
func TestConfigureIsOffered(t *testing.T) {
	for name, row := range map[string]struct {
		o       Options
		offered bool
	}{
		"default": {Options{}, false}, "configure": {Options{Configure: true}, true}, "without the family": {Options{Configure: true, Without: true}, false},
	} {
		c := configurable(t, "", row.o)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		offered := false
		for _, tool := range list.Tools {
			if tool.Name != configureTool {
				continue
			}
			offered = true
			a := tool.Annotations
			if a.ReadOnlyHint || a.DestructiveHint == nil || !*a.DestructiveHint || tool.OutputSchema == nil {
				t.Errorf("annotations %+v, output schema %v", a, tool.OutputSchema)
			}
		}
		if offered != row.offered {
			t.Errorf("%s: offered %v", name, offered)
		}
		if row.offered {
			continue
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: configureTool, Arguments: map[string]any{"action": "get_config"}}); err == nil {
			t.Errorf("%s: a tool that is not offered was called", name)
		}
	}
}
