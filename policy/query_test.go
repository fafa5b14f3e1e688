package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// TestQueryAnswersAsRego compares answers with those of package rego for rules
// that use caches, "with", functions and data.
// bounded makes package rego convert its results as ours are.
func bounded(ctx context.Context) rego.EvalOption {
	return rego.EvalGenerateJSON(func(t *ast.Term, _ *rego.EvalContext) (any, error) {
		c := &converter{ctx: ctx}
		return c.plain(t.Value, 0)
	})
}

func TestQueryAnswersAsRego(t *testing.T) {
	const text = `package gatehouse.permission

fixed := {"a": 1, "b": [2, 3]}

also := "text"

not_fixed := input.door

cond := 1 if input.door == "x"

default dflt := 5

dflt := 6 if input.door == "x"

twice := 1 if input.tool.name == "Bash"

twice := 1 if input.door == "x"

names contains n if some n in ["p", "q"]

f(x) := x + fixed.a

g(x, y) := [x, y, f(x)]

g2(o) := o.a

decisions contains fixed

decisions contains {"with": v} if v := fixed with data.gatehouse.permission.fixed as {"other": true}

decisions contains {"inner": v} if v := uses_fixed with data.gatehouse.permission.fixed as {"a": 7}

decisions contains {"input": v} if v := not_fixed with input.door as "elsewhere"

decisions contains {"again": not_fixed}

uses_fixed := fixed.a

decisions contains {"key": fixed[k]} if some k in ["a", "b", "c"]

decisions contains {"f": {v | some i in numbers.range(1, 40); v := f(i)}}

decisions contains {"g": [g(1, 2), g(2, 1), g(1, 2), f(1)]}

decisions contains {"objects": [g2({"a": 1, "b": 2}), g2({"a": 1, "b": 3}), g2({"a": 2})]}

decisions contains {"names": names, "has": "p" in names, "not": "z" in names}

decisions contains {"dflt": dflt, "twice": twice, "also": also}

decisions contains {"undefined": true} if not cond

decisions contains {"undefined": "again"} if not cond

decisions contains {"cfg": data.cfg}

decisions contains {"cfg": data.cfg.list[i], "i": i} if some i

decisions contains {"cfg": "misses"} if not data.cfg.nothing

decisions contains {"replaced": v} if v := data.cfg.list with data.cfg.list as [9]

decisions contains {"data": count(object.keys(data.cfg))}
`
	ctx := context.Background()
	m := ast.MustParseModuleWithOpts(text, ast.ParserOptions{RegoVersion: ast.RegoV2})
	c := ast.NewCompiler().WithDefaultRegoVersion(ast.RegoV2)
	if c.Compile(map[string]*ast.Module{"x.rego": m}); c.Failed() {
		t.Fatal(c.Errors)
	}
	cfg := map[string]any{"list": []any{json.Number("1"), "two"}, "deep": map[string]any{"x": true}}
	set := entrySets[EntryPermission]
	prepared, err := rego.New(rego.Compiler(c), rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(set)))),
		rego.Store(inmem.NewFromObject(map[string]any{"cfg": cfg})), rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV2)).PrepareForEval(ctx)
	if err != nil {
		t.Fatal(err)
	}
	data, err := newLayerData(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	q, err := newQuery(c, data, set)
	if err != nil {
		t.Fatal(err)
	}
	if len(q.fixed) != 2 || q.fixed["fixed"] == nil || q.fixed["also"] == nil {
		t.Errorf("written out are %v", q.fixed)
	}
	for _, door := range []string{"x", "y", "x"} { // again, with what was used before
		input := ast.MustParseTerm(fmt.Sprintf(`{"door": %q, "tool": {"name": "Bash"}}`, door)).Value
		want, err := prepared.Eval(ctx, rego.EvalParsedInput(input), bounded(ctx))
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.set(ctx, input)
		if err != nil || !reflect.DeepEqual(got, want[0].Expressions[0].Value) || len(got.([]any)) < 18 {
			t.Errorf("door %s: got %v (%v), want %v", door, got, err, want[0].Expressions[0].Value)
		}
	}
}

// TestQueryEnds with its context, in the middle and before it began.
func TestQueryEnds(t *testing.T) {
	s := load(t, Options{Profile: "none", Deadline: time.Hour, Paths: []string{userPolicy(t, `package gatehouse.permission

decisions contains {"effect": "allow", "rule": "test.slow"} if {
	some a in numbers.range(1, 2000)
	some b in numbers.range(1, 2000)
	a * b == -1
}`)}})
	r := request(workspace(t), "Bash", `{"command":"id"}`)
	for _, after := range []time.Duration{0, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		if d, err := s.Decide(ctx, r); err != nil || d.Effect != permission.Deny || !strings.HasPrefix(d.Rule, "engine.") {
			t.Errorf("after %s: got %s by %s (%v)", after, d.Effect, d.Rule, err)
		}
		cancel()
	}
}

func TestRuleCacheFrames(t *testing.T) {
	c := &ruleCache{}
	c.begin(&query{})
	ref := func(i int) ast.Ref { return ast.MustParseRef(fmt.Sprintf("data.a.b.c%d[%d]", i%3, i)) }
	for i := range 50 {
		c.Put(ref(i), ast.IntNumberTerm(i))
	}
	c.Put(ref(77), nil)
	for i := range 50 {
		if v, none := c.Get(ref(i)); none || v == nil || !v.Equal(ast.IntNumberTerm(i)) {
			t.Fatalf("%d: got %v", i, v)
		}
	}
	if v, none := c.Get(ref(77)); v != nil || !none {
		t.Errorf("undefined: got %v %v", v, none)
	}
	c.Push()
	if v, none := c.Get(ref(1)); v != nil || none {
		t.Errorf("a new frame knows %v", v)
	}
	c.Put(ref(1), ast.IntNumberTerm(99))
	c.Pop()
	if v, _ := c.Get(ref(1)); !v.Equal(ast.IntNumberTerm(1)) || len(c.Keys()) != 50 {
		t.Errorf("after the frame: got %v, %d keys", v, len(c.Keys()))
	}
	c.end()
	c.begin(&query{})
	if v, none := c.Get(ref(1)); v != nil || none || len(c.Keys()) != 0 {
		t.Errorf("after the end: got %v", v)
	}
}

// TestConflictsFail: a rule with two values is an error, also where the first one
// is written out.
func TestConflictsFail(t *testing.T) {
	s := load(t, Options{Profile: "none", Paths: []string{userPolicy(t, `package gatehouse.permission

decisions contains {"effect": "allow", "rule": "test.both"} if both > 0

both := 1

both := 2 if input.tool.name == "Bash"
`)}})
	if d := decide(t, s, request(workspace(t), "Bash", `{"command":"id"}`)); d.Rule != "engine.error" {
		t.Errorf("got %s by %s, want engine.error", d.Effect, d.Rule)
	}
	if d := decide(t, s, request(workspace(t), "Read", `{"file_path":"main.go"}`)); d.Rule != "test.both" {
		t.Errorf("got %s by %s, want test.both", d.Effect, d.Rule)
	}
}
