package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

const slowly = `{
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 100000)
	a * b == -1
}`

// TestHeavyPoliciesAreHeldToTheDeadline holds policies that would take for ever
// or fill the memory. Each denies, and soon.
func TestHeavyPoliciesAreHeldToTheDeadline(t *testing.T) {
	root := workspace(t)
	for _, row := range []struct{ name, text string }{
		{"endless loop", "if " + slowly},
		{"concatenation that grows", "if {\n\tsome n in numbers.range(1, 1000000)\n\tcount(concat(\",\", [x | some i in numbers.range(1, n); x := \"xxxxxxxxxxxxxxxx\"])) == -1\n}"},
		{"walk over products", "if {\n\tsome a in numbers.range(1, 1000)\n\tsome b in numbers.range(1, 1000)\n\twalk(input, [_, v])\n\tv == [a, b]\n}"},
		{"number that grows", "if product(numbers.range(1, 300000)) == 0"},
		{"rule within rule", "if {\n\tevery a in numbers.range(1, 100000) {\n\t\tevery b in numbers.range(1, 100000) {\n\t\t\ta * b > 0\n\t\t}\n\t}\n}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := head + `decisions contains {"effect": "allow", "rule": "user.slow"} ` + row.text
			s := load(t, Options{Paths: []string{userPolicy(t, text)}, Deadline: 100 * time.Millisecond})
			start := time.Now()
			d := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
			if d.Effect != permission.Deny || d.Rule != "engine.timeout" {
				t.Errorf("got %s by %s, want deny by engine.timeout", d.Effect, d.Rule)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestLongTextsAreJudged holds inputs of the largest size that is judged against
// what looks through them: an answer comes, and it is none that lets pass.
func TestLongTextsAreJudged(t *testing.T) {
	root := workspace(t)
	long := strings.Repeat("a", maxStringBytes)
	deep := strings.Repeat(`{"a":`, maxInputDepth-8) + "1" + strings.Repeat("}", maxInputDepth-8)
	for _, row := range []struct{ name, rule, input string }{
		{"pattern over a long text", `regex.match("(a*)*b", input.tool.input.text)`, fmt.Sprintf(`{"text":%q}`, long)},
		{"walk over deep nesting", `[p | walk(input, [p, _])] == []`, `{"x":` + deep + `}`},
		{"walk over many fields", `[p | walk(input, [p, _])] == []`, `{"x":[` + strings.Repeat("1,", 20000) + `1]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := head + `decisions contains {"effect": "allow", "rule": "user.long"} if ` + row.rule
			s := load(t, Options{Paths: []string{userPolicy(t, text)}})
			if d := decide(t, s, request(root, "mcp__a__b", row.input)); d.Effect < permission.Ask {
				t.Errorf("got %s by %s, want no permission", d.Effect, d.Rule)
			}
		})
	}
}

// TestEveryEntryFailsClosed: what fails denies at each entry point.
func TestEveryEntryFailsClosed(t *testing.T) {
	root := workspace(t)
	for _, row := range []struct{ name, rule, body string }{
		{"error", "engine.error", `decisions contains {"effect": "allow", "rule": "user.x"} if to_number("abc") > 3`},
		{"unknown effect", "engine.decode", `decisions contains {"effect": lower("ALOW"), "rule": "user.x", "reason": "r"}`},
		{"unknown field", "engine.decode", `decisions contains object.union({"effect": "allow", "rule": "user.x"}, {"when": 1})`},
		{"time-out", "engine.timeout", `decisions contains {"effect": "allow", "rule": "user.x"} if ` + slowly},
	} {
		for _, entry := range []Entrypoint{EntryPermission, EntryAdmission, EntryInproc} {
			t.Run(row.name+" at "+string(entry), func(t *testing.T) {
				text := "package gatehouse." + string(entry) + "\n\n" + row.body
				s := load(t, Options{Paths: []string{userPolicy(t, text)}, Deadline: 200 * time.Millisecond})
				if d := at(t, s, entry, root); d.Effect != permission.Deny || d.Rule != row.rule {
					t.Errorf("got %s by %s (%s), want deny by %s", d.Effect, d.Rule, d.Reason, row.rule)
				}
			})
		}
	}
}

// at judges something harmless at an entry point.
func at(t *testing.T, s *Set, e Entrypoint, root string) permission.Decision {
	t.Helper()
	call := request(root, "Read", `{"file_path":"main.go"}`)
	switch e {
	case EntryAdmission:
		d, err := s.Admit(context.Background(), admission.Request{Action: admission.List})
		if err != nil {
			t.Fatal(err)
		}
		return d
	case EntryInproc:
		call.Tool = "mcp__own__read"
		return s.Inproc(context.Background(), permission.InprocRequest{Call: call, Server: "own", Phase: permission.PhaseCall, Passed: permission.Decision{Effect: permission.Allow, Rule: "x.y"}})
	}
	return decide(t, s, call)
}

// TestUndefinedDenies: a layer whose query gives nothing has not said that
// nothing is to be said.
func TestUndefinedDenies(t *testing.T) {
	s := load(t, Options{})
	q, err := newQuery(s.layers[0].compiler, s.layers[0].queries[EntryPermission].data, ast.MustParseRef("data.nothing"))
	if err != nil {
		t.Fatal(err)
	}
	s.layers[0].queries = map[Entrypoint]*query{EntryPermission: q, EntryAdmission: q, EntryInproc: q}
	for _, e := range []Entrypoint{EntryPermission, EntryAdmission, EntryInproc} {
		if d := at(t, s, e, workspace(t)); d.Effect != permission.Deny || d.Rule != "engine.undefined" {
			t.Errorf("%s: got %s by %s, want deny by engine.undefined", e, d.Effect, d.Rule)
		}
	}
}

// TestCapabilitiesAreAList: what is granted is exactly what is listed, so that a
// function that a later OPA brings is out.
func TestCapabilitiesAreAList(t *testing.T) {
	listed := strings.Fields(allowedBuiltins)
	granted := map[string]bool{}
	for _, b := range capabilities().Builtins {
		if granted[b.Name] = true; b.Nondeterministic || !slices.Contains(listed, b.Name) {
			t.Errorf("%s is granted", b.Name)
		}
	}
	for _, name := range listed {
		if !granted[name] {
			t.Errorf("%s is listed, and no such function is granted", name)
		}
	}
	for _, b := range projectCapabilities().Builtins {
		if !slices.Contains(strings.Fields(projectBuiltins), b.Name) {
			t.Errorf("a project is granted %s", b.Name)
		}
		delete(granted, b.Name)
	}
	for _, name := range strings.Fields("sprintf concat walk json.marshal numbers.range array.concat base64.decode replace") {
		if !granted[name] {
			t.Errorf("a project is granted %s", name)
		}
	}
	if net := capabilities().AllowNet; net == nil || len(net) > 0 {
		t.Errorf("allow_net is %v; nil would be every host", net)
	}
}

// TestNoPolicyDenies: a set without layers, and one without an answer, let nothing pass.
func TestNoPolicyDenies(t *testing.T) {
	root := workspace(t)
	empty := load(t, Options{})
	empty.layers = nil
	for _, e := range []Entrypoint{EntryPermission, EntryAdmission, EntryInproc} {
		if d := at(t, empty, e, root); d.Effect != permission.Deny || d.Rule != "engine.no_policy" {
			t.Errorf("%s without layers: got %s by %s", e, d.Effect, d.Rule)
		}
	}
	silent := load(t, Options{})
	for _, l := range silent.layers {
		l.queries = nil // as if no rule were there
	}
	for e, want := range map[Entrypoint]permission.Effect{EntryPermission: permission.Ask, EntryAdmission: permission.Deny, EntryInproc: permission.Deny} {
		if d := at(t, silent, e, root); d.Effect != want || d.Rule != "engine.default" {
			t.Errorf("%s without rules: got %s by %s", e, d.Effect, d.Rule)
		}
	}
}

// FuzzDecode: whatever set of values the policies give, decoding it ends, and
// nothing but the word allow becomes an allow.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"effect":"allow","rule":"a.b"}]`, `[{"effect":"Allow","rule":"a.b"}]`, `[{"effect":["allow"],"rule":"a.b"}]`, `"allow"`, `[[{"effect":"allow"}]]`,
		`[{"effect":"ask","rule":"a.b","reason":"r","ask":{"timeout_s":3,"on_timeout":"halt","approvers":["x"],"quorum":2,"scope":"rule","ttl_s":9,"fields":["/a"]}}]`,
		`[{"effect":"modify","rule":"a.b","reason":"r","ops":[{"op":"append_arg","path":"/a/0","value":{},"expect":null}]}]`,
		`[{"effect":"deny","rule":"a.b","reason":"r","obligations":[{"kind":"notify","args":{}}],"cache":{"ttl_s":1,"key":["/a"]},"labels":{"a":"b"}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, err := decodeValue(raw)
		if err != nil {
			return
		}
		verdicts, err := decode("user", value)
		if err != nil {
			if verdicts != nil {
				t.Errorf("an error and %d verdicts", len(verdicts))
			}
			return
		}
		list, _ := value.([]any)
		for i, v := range verdicts {
			written, _ := list[i].(map[string]any)["effect"].(string)
			if v.Effect.String() != written && !(written == "context" && v.Effect == permission.Abstain) {
				t.Errorf("effect %q was read as %s", written, v.Effect)
			}
			if v.Rule == "" {
				t.Errorf("a verdict without a rule: %+v", v)
			}
		}
		compose(verdicts)
	})
}
