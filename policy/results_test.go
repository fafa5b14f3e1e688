package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// doubling is rules of which each holds the one before twice: n of them take no
// room, and 2^n texts when they are written out.
func doubling(name, first string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s0 := [%s, %s]\n", name, first, first)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "%s%d := [%s%d, %s%d]\n", name, i, name, i-1, name, i-1)
	}
	return b.String()
}

// TestHugeResultsAreRefused: what a rule shares fifty times over is not written out.
func TestHugeResultsAreRefused(t *testing.T) {
	said := `decisions contains {"effect": "deny", "rule": "user.huge", "reason": "r", "labels": `
	for _, row := range []struct{ name, text, limit string }{
		{"doubled 45 times", doubling("x", "input.tool.name", 45) + said + `x}` + " if x := x44", "parts"},
		{"a set", `decisions contains {"effect": "deny", "rule": "user.huge", "reason": "r", "labels": {i | some i in numbers.range(1, 100001)}}`, "parts"},
		{"bytes", `decisions contains {"effect": "deny", "rule": "user.huge", "reason": "r", "context": [x | some _ in numbers.range(1, 70)]}` + " if x := input.tool.input.x", "bytes"},
		{"levels", doubling("x", "1", 1) + said + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", "levels"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Deadline: generous, Paths: []string{userPolicy(t, head+row.text)}})
			d := decide(t, s, request(workspace(t), "mcp__a__b", `{"x":"`+strings.Repeat("x", 40000)+`"}`))
			if d.Effect != permission.Deny || d.Rule != "engine.decode" || !strings.Contains(d.Reason, row.limit) {
				t.Errorf("got %s by %s (%s), want deny by engine.decode that names %s", d.Effect, d.Rule, d.Reason, row.limit)
			}
		})
	}
}

func TestHugeMaskTakesEverythingOut(t *testing.T) {
	s := load(t, Options{OrgModules: map[string]string{"mask.rego": "package gatehouse.log\n\n" + doubling("x", "input.path", 45) + `mask contains {"op": "upsert", "path": "/input/x", "value": x44}`}})
	ops, err := s.Mask(context.Background(), map[string]any{"path": "gatehouse/permission/decisions"})
	if err == nil || !strings.Contains(err.Error(), "parts") || len(ops) != len(maskAll) {
		t.Errorf("got %v, %v", ops, err)
	}
}

func TestResultConversionHeedsTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list := ast.ArrayTerm()
	for range 5000 {
		list.Value = list.Value.(*ast.Array).Append(ast.InternedEmptyString)
	}
	c := &converter{ctx: ctx}
	if _, err := c.plain(list.Value, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
