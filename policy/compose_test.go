package policy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"

	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// say writes one rule; more are further fields of its decision.
func say(effect, id, more string) string {
	return `decisions contains {"effect": "` + effect + `", "rule": "` + id + `", "reason": "` + id + `"` + more + "}\n\n"
}

func TestAskTermsAreJoined(t *testing.T) {
	text := head +
		say("ask", "user.a", `, "ask": {"timeout_s": 60, "approvers": ["lead", "owner"], "quorum": 1, "scope": "session", "ttl_s": 600, "fields": ["/a"]}`) +
		say("ask", "user.b", `, "ask": {"timeout_s": 30, "on_timeout": "halt", "approver": "human", "approvers": ["owner", "human"], "quorum": 2, "scope": "exact", "ttl_s": 60, "fields": ["/b", "/a"]}`)
	d := decide(t, load(t, Options{Paths: []string{userPolicy(t, text)}}), request(workspace(t), "Read", `{"file_path":"main.go"}`))
	want := permission.AskTerms{
		TimeoutSeconds: 30, OnTimeout: permission.Halt, Approver: "human", Approvers: []string{"owner"},
		Quorum: 2, Scope: "exact", TTLSeconds: 60, Fields: []string{"/a", "/b"},
	}
	if d.Effect != permission.Ask || !reflect.DeepEqual(d.Ask, want) {
		t.Errorf("got %s %+v, want %+v", d.Effect, d.Ask, want)
	}
}

func TestUnitedDecision(t *testing.T) {
	text := head +
		say("ask", "user.b", `, "severity": "critical", "labels": {"team": "b"}, "obligations": [{"kind": "log_full"}]`) +
		say("ask", "user.a", `, "labels": {"team": "a", "kind": "x"}, "obligations": [{"kind": "log_full"}, {"kind": "notify", "args": {"to": "lead"}}]`) +
		say("allow", "user.c", `, "context": ["mind the gap"], "obligations": [{"kind": "sandbox"}]`)
	d := decide(t, load(t, Options{Paths: []string{userPolicy(t, text)}}), request(workspace(t), "mcp__a__b", `{}`))
	got, err := json.Marshal([]any{d.Rule, d.Severity, d.Reason, d.Labels, d.Context, d.Obligations})
	if err != nil {
		t.Fatal(err)
	}
	want := `["user.b","critical","user.a; user.b",{"kind":"x","team":"b"},["mind the gap"],[{"kind":"log_full"},{"kind":"notify","args":{"to":"lead"}},{"kind":"sandbox"}]]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestManyReasonsAreCut(t *testing.T) {
	var text strings.Builder
	text.WriteString(head)
	for _, c := range "abcdefghijklmn" {
		text.WriteString(say("deny", "user."+string(c), ""))
	}
	d := decide(t, load(t, Options{Paths: []string{userPolicy(t, text.String())}}), request(workspace(t), "mcp__a__b", `{}`))
	if !strings.HasPrefix(d.Reason, "user.a; user.b") || !strings.HasSuffix(d.Reason, "user.j; and 4 more") {
		t.Errorf("reason %q", d.Reason)
	}
}

func TestOps(t *testing.T) {
	root := workspace(t)
	allow := say("allow", "user.all", "")
	ops := func(list string) string { return say("modify", "user.op", `, "ops": [`+list+`]`) }
	for _, row := range []struct {
		name, tool, input, rules string
		want                     permission.Effect
		rule, updated            string
	}{
		{"set", "mcp__a__b", `{"x":1}`, ops(`{"op": "set", "path": "/x", "value": 2}`), permission.Modify, "user.op", `{"x":2}`},
		{"set what is expected", "mcp__a__b", `{"x":1.0}`, ops(`{"op": "set", "path": "/x", "value": 2, "expect": 1}`), permission.Modify, "user.op", `{"x":2}`},
		{"set what is not expected", "mcp__a__b", `{"x":3}`, ops(`{"op": "set", "path": "/x", "value": 2, "expect": 1}`), permission.Deny, "engine.modify_expect", ""},
		{"set what is missing, null expected", "mcp__a__b", `{}`, ops(`{"op": "set", "path": "/x", "value": 2, "expect": null}`), permission.Deny, "engine.modify_expect", ""},
		{"already as wanted, whatever expected", "mcp__a__b", `{"x":2}`, ops(`{"op": "set", "path": "/x", "value": 2, "expect": 1}`), permission.Allow, "user.all", ""},
		{"remove what is expected", "mcp__a__b", `{"x":1,"y":2}`, ops(`{"op": "remove", "path": "/x", "expect": 1}`), permission.Modify, "user.op", `{"y":2}`},
		{"remove what is not expected", "mcp__a__b", `{"x":3}`, ops(`{"op": "remove", "path": "/x", "expect": 1}`), permission.Deny, "engine.modify_expect", ""},
		{"append", "mcp__a__b", `{"args":["a"]}`, ops(`{"op": "append_arg", "path": "/args", "value": "-n"}`), permission.Modify, "user.op", `{"args":["a","-n"]}`},
		{"append what is there", "mcp__a__b", `{"args":["-n","a"]}`, ops(`{"op": "append_arg", "path": "/args", "value": "-n"}`), permission.Allow, "user.all", ""},
		{"append to no list", "mcp__a__b", `{"args":"a"}`, ops(`{"op": "append_arg", "path": "/args", "value": "-n"}`), permission.Deny, "engine.modify", ""},
		{"a deny needs no fitting change", "mcp__a__b", `{"x":3}`, ops(`{"op": "set", "path": "/x", "value": 2, "expect": 1}`) + say("deny", "user.no", ""), permission.Deny, "user.no", ""},
		{"whole command", "Bash", `{"command":"make"}`, ops(`{"op": "set", "path": "/command", "value": "make -n"}`), permission.Modify, "user.op", `{"command":"make -n"}`},
		{"another field of Bash", "Bash", `{"command":"make","timeout":9}`, ops(`{"op": "set", "path": "/timeout", "value": 5}`), permission.Modify, "user.op", `{"command":"make","timeout":5}`},
		{"command appended to", "Bash", `{"command":"make"}`, ops(`{"op": "append_arg", "path": "/command", "value": "-n"}`), permission.Deny, "engine.modify", ""},
		{"command removed", "Bash", `{"command":"make"}`, ops(`{"op": "remove", "path": "/command"}`), permission.Deny, "engine.modify", ""},
		{"command no text", "Bash", `{"command":"make"}`, ops(`{"op": "set", "path": "/command", "value": ["make"]}`), permission.Deny, "engine.modify", ""},
		{"two rules, one place", "mcp__a__b", `{"x":1}`, ops(`{"op": "set", "path": "/x", "value": 2}`) + say("modify", "user.two", `, "ops": [{"op": "set", "path": "/x", "value": 3}]`), permission.Ask, "engine.modify_conflict", ""},
		{"two rules, one wish", "mcp__a__b", `{"x":1}`, ops(`{"op": "set", "path": "/x", "value": 2}`) + say("modify", "user.two", `, "ops": [{"op": "set", "path": "/x", "value": 2.0}]`), permission.Modify, "user.op", `{"x":2}`},
		{"two spellings of one element", "mcp__a__b", `{"x":[1]}`, ops(`{"op": "set", "path": "/x/0", "value": 2}`) + say("modify", "user.two", `, "ops": [{"op": "set", "path": "/x/00", "value": 3}]`), permission.Deny, "engine.modify", ""},
		{"a sign before an index", "mcp__a__b", `{"x":[1]}`, ops(`{"op": "set", "path": "/x/+0", "value": 2}`), permission.Deny, "engine.modify", ""},
		{"minus nought", "mcp__a__b", `{"x":[1]}`, ops(`{"op": "set", "path": "/x/-0", "value": 2}`), permission.Deny, "engine.modify", ""},
		{"a member that looks like an index", "mcp__a__b", `{"x":{"00":1}}`, ops(`{"op": "set", "path": "/x/00", "value": 2}`), permission.Modify, "user.op", `{"x":{"00":2}}`},
		{"an escaped name", "mcp__a__b", `{"a/b~c":1}`, ops(`{"op": "set", "path": "/a~1b~0c", "value": 2}`), permission.Modify, "user.op", `{"a/b~c":2}`},
		{"a name that is not escaped", "mcp__a__b", `{"a~c":1}`, ops(`{"op": "set", "path": "/a~c", "value": 2}`), permission.Deny, "engine.decode", ""},
		{"a place and what lies in it", "mcp__a__b", `{"x":{"y":1}}`, ops(`{"op": "set", "path": "/x/y", "value": 2}`) + say("modify", "user.two", `, "ops": [{"op": "set", "path": "/x", "value": {}}]`), permission.Ask, "engine.modify_conflict", ""},
		{"asked about a change that never ends", "mcp__a__b", `{"x":1}`, `decisions contains {"effect": "modify", "rule": "user.grow", "reason": "r", "ops": [{"op": "set", "path": "/x", "value": x + 1}]} if x := input.tool.input.x` + "\n\n" + say("ask", "user.who", ""), permission.Deny, "engine.modify_loop", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Profile: "none", Paths: []string{userPolicy(t, head+allow+row.rules)}})
			d := decide(t, s, request(root, row.tool, row.input))
			if d.Effect != row.want || d.Rule != row.rule || string(d.UpdatedInput) != row.updated {
				t.Errorf("got %s by %s (%s) %s, want %s by %s %s", d.Effect, d.Rule, d.Reason, d.UpdatedInput, row.want, row.rule, row.updated)
			}
		})
	}
}

// TestCachedDecision: an equal call is answered from memory for as long as the
// rule said, under an id of its own.
func TestCachedDecision(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Profile: "none", Paths: []string{userPolicy(t, head+say("allow", "user.all", `, "cache": {"ttl_s": 60, "key": ["/tool/name"]}`))}})
	synctest.Test(t, func(t *testing.T) {
		first := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
		layers := s.layers
		s.layers = nil // whoever asks now is denied
		second := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
		other := decide(t, s, request(root, "Read", `{"file_path":"src/a.go"}`))
		time.Sleep(61 * time.Second)
		late := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
		s.layers = layers
		time.Sleep(2 * workers.Idle) // the bubble ends after the workers
		if first.Effect != permission.Allow || second.Effect != permission.Allow || second.DecisionID == first.DecisionID || second.DecisionID == "" {
			t.Errorf("first %s %s, second %s %s", first.Effect, first.DecisionID, second.Effect, second.DecisionID)
		}
		if other.Effect != permission.Deny || late.Effect != permission.Deny {
			t.Errorf("another call %s, a late one %s, want both judged anew", other.Effect, late.Effect)
		}
	})
}
