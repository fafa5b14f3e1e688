package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestGrantsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := permission.Request{Tool: "Bash", Input: json.RawMessage(`{"a":1,"b":2}`), Session: permission.Session{Cwd: filepath.Join(t.TempDir(), "work")}}
		d := permission.Decision{Rule: "r", Revision: "1", Ask: permission.AskTerms{Scope: "exact", TTLSeconds: 60}}
		var g grantList
		g.add(permission.Question{ID: "q", Request: r, Decision: d}, time.Now())
		other := r
		other.Input = json.RawMessage(`{"b":2, "a":1}`)
		time.Sleep(59 * time.Second)
		if got := g.use(other, d, "1", time.Now()); got != "q" {
			t.Errorf("equal input in another order: %q", got)
		}
		if got := g.use(r, d, "2", time.Now()); got != "" || d.Revision != "1" {
			t.Errorf("a decision of older policies: %q", got)
		}
		time.Sleep(time.Second)
		if got := g.use(r, d, "1", time.Now()); got != "" {
			t.Errorf("after its time: %q", got)
		}
		for i := range 3 * maxGrants {
			d.Rule = fmt.Sprint(i)
			g.add(permission.Question{ID: "q", Request: r, Decision: d}, time.Now())
		}
		if len(g.all) > maxGrants {
			t.Errorf("%d grants, bound %d", len(g.all), maxGrants)
		}
	})
}

// The same words of another agent, mode or rule, or in another folder, do
// something else.
func TestWhatAGrantDoesNotCover(t *testing.T) {
	work := t.TempDir()
	asked := func(scope string) (permission.Request, permission.Decision) {
		return permission.Request{Tool: "Bash", Input: json.RawMessage(`{"command":"rm -r build"}`), Folder: work, Session: permission.Session{Cwd: work, Mode: "default"}},
			permission.Decision{Rule: "r", Layer: "org", Asking: []string{"org:r"}, Revision: "1", Ask: permission.AskTerms{Scope: scope}}
	}
	for name, row := range map[string]struct {
		change  func(*permission.Request, *permission.Decision)
		covered bool
	}{
		"nothing":             {func(*permission.Request, *permission.Decision) {}, true},
		"its folder unsaid":   {func(r *permission.Request, _ *permission.Decision) { r.Folder = "" }, true},
		"another folder":      {func(r *permission.Request, _ *permission.Decision) { r.Folder = filepath.Join(work, "sub") }, false},
		"an unknown folder":   {func(r *permission.Request, _ *permission.Decision) { r.Folder = unknownFolder }, false},
		"another agent":       {func(r *permission.Request, _ *permission.Decision) { r.AgentID = "a" }, false},
		"another mode":        {func(r *permission.Request, _ *permission.Decision) { r.Session.Mode = "plan" }, false},
		"another layer":       {func(_ *permission.Request, d *permission.Decision) { d.Layer = "user" }, false},
		"another layer, too":  {func(_ *permission.Request, d *permission.Decision) { d.Asking = append(d.Asking, "user:r") }, false},
		"another rule, too":   {func(_ *permission.Request, d *permission.Decision) { d.Rules = []string{"ask:other"} }, false},
		"another who answers": {func(_ *permission.Request, d *permission.Decision) { d.Ask.Approvers = []string{"client"} }, false},
	} {
		for _, scope := range permission.Scopes[1:] {
			var g grantList
			r, d := asked(scope)
			g.add(permission.Question{ID: "q", Request: r, Decision: d}, time.Now())
			row.change(&r, &d)
			if got := g.use(r, d, "1", time.Now()); (got != "") != row.covered {
				t.Errorf("%s, scope %s: %q", name, scope, got)
			}
		}
	}
	r, d := asked("session")
	r.Folder = unknownFolder
	var g grantList
	if g.add(permission.Question{ID: "q", Request: r, Decision: d}, time.Now()); len(g.all) > 0 {
		t.Error("an approval in an unknown folder is kept")
	}
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w window
		for i := range 3 {
			if !w.take(time.Now(), 3) {
				t.Errorf("question %d is refused", i)
			}
			time.Sleep(10 * time.Second)
		}
		if w.take(time.Now(), 3) {
			t.Error("a fourth question in half a minute")
		}
		time.Sleep(30 * time.Second) // a minute after the first
		if !w.take(time.Now(), 3) || w.take(time.Now(), 3) {
			t.Error("the window does not move on by one")
		}
		if !w.take(time.Now(), -1) {
			t.Error("no limit is one")
		}
	})
}

func TestLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		start := time.Now() // synctest begins at midnight UTC
		l.add(start, "a", 1)
		time.Sleep(23 * time.Hour)
		l.add(time.Now(), "b", 2)
		if total, a := l.today(time.Now(), "a"); total != 3 || a != 1 {
			t.Errorf("today: %g, of a %g", total, a)
		}
		for i := range 2 * maxCallers {
			l.add(time.Now(), fmt.Sprint(i), 0)
		}
		if _, late := l.today(time.Now(), "late"); len(l.callers) > maxCallers || late != 3 {
			t.Errorf("%d callers, one beyond the bound spent %g", len(l.callers), late)
		}
		time.Sleep(time.Hour)
		if total, b := l.today(time.Now(), "b"); total != 0 || b != 0 {
			t.Errorf("after midnight: %g, of b %g", total, b)
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	var h history
	for i := range 3 * permission.MaxToolNames {
		h.judged(permission.Request{Tool: fmt.Sprint("t", i)}, permission.Decision{}, time.Now())
		h.mark(fmt.Sprint("k:", i))
	}
	h.mark("k:"+strings.Repeat("x", maxTaintText), "k:1")
	var s permission.Session
	h.fill(&s)
	if len(s.Recent) != permission.MaxRecent || s.Recent[permission.MaxRecent-1].Tool != fmt.Sprint("t", 3*permission.MaxToolNames-1) {
		t.Errorf("recent = %v", s.Recent)
	}
	if len(s.Tools) != permission.MaxToolNames || s.Tools[otherTools] != 2*permission.MaxToolNames+1 {
		t.Errorf("%d tools, %d calls of others", len(s.Tools), s.Tools[otherTools])
	}
	if len(s.Taint) != permission.MaxTaint || s.Taint[0] != taintFull {
		t.Errorf("%d taints, the first is %q", len(s.Taint), s.Taint[0])
	}
}

func TestAgentsInAgents(t *testing.T) {
	var a agents
	a.calling(permission.Request{Tool: "Agent", ToolUseID: "outer"})
	a.learn("a1", "Explore", "outer")
	a.calling(permission.Request{Tool: "Task", ToolUseID: "inner", AgentID: "a1"})
	a.learn("a2", "", "inner")
	a.learn("a2", "mine", "")
	if got, want := a.of("a2"), (permission.Agent{Type: "mine", Depth: 2, ParentToolUseID: "inner"}); got != want {
		t.Errorf("agent = %+v, want %+v", got, want)
	}
	if got := a.of("unknown"); got.Depth != 1 {
		t.Errorf("an unknown agent: %+v", got)
	}
	for i := range 3 * maxAgents {
		a.calling(permission.Request{Tool: "Agent", ToolUseID: fmt.Sprint(i)})
		a.learn(fmt.Sprint(i), "x", fmt.Sprint(i))
	}
	if len(a.known) > maxAgents || len(a.starts) > maxAgents || len(a.order) > maxAgents || len(a.started) > maxAgents {
		t.Errorf("%d agents, %d starts, bound %d", len(a.known), len(a.starts), maxAgents)
	}
}

func TestDutiesOfRepeatedIDs(t *testing.T) {
	var u duties
	r := permission.Request{ToolUseID: "same"}
	withheld := permission.Decision{Rule: "w", Obligations: []permission.Obligation{{Kind: "redact_result"}}}
	cut := permission.Decision{Rule: "c", Obligations: []permission.Obligation{{Kind: "limit_output", Args: map[string]any{"bytes": 3}}}}
	u.take(r, withheld)
	u.take(r, cut)
	for range 2 {
		if d, owed := u.end("", "same"); !owed || !d.withhold || d.limit != 3 {
			t.Errorf("duty = %+v, %t", d, owed)
		}
	}
	if _, owed := u.end("", "same"); owed || len(u.calls) > 0 {
		t.Error("a third end finds a duty")
	}
	for i := range maxDuties {
		if !u.take(permission.Request{ToolUseID: fmt.Sprint(i)}, cut) {
			t.Fatalf("call %d is refused", i)
		}
	}
	if u.take(permission.Request{ToolUseID: "over"}, cut) {
		t.Error("more calls than the bound")
	}
	if !u.take(permission.Request{ToolUseID: "free"}, permission.Decision{}) {
		t.Error("a call without obligations is refused")
	}
}

func TestOutputKeepsItsShape(t *testing.T) {
	cases := []struct {
		limit    int
		in, want string
	}{
		{5, `{"b":"abc","a":"123","n":1e999,"type":"text"}`, `{"a":"123","b":"ab\n[cut at 5 bytes by rule r]","n":1e999,"type":"text"}`},
		{6, `{"b":"abc","a":"123"}`, `{"b":"abc","a":"123"}`},
		{0, `[{"text":"abc"},{"text":"def"}]`, `[{"text":"\n[cut at 0 bytes by rule r]"},{"text":""}]`},
		{3, `"éé"`, `"é\n[cut at 3 bytes by rule r]"`},
		{3, `not json`, `"[withheld]"`},
	}
	for _, c := range cases {
		if got := (duty{rule: "r", limit: c.limit}).shape("", json.RawMessage(c.in)); string(got) != c.want {
			t.Errorf("%s at %d = %s, want %s", c.in, c.limit, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	input := json.RawMessage(`{"a/b":{"~":[1,"x\u202ey"]},"long":"` + strings.Repeat("é", maxFieldText) + `"}`)
	cases := map[string]string{
		"/a~1b/~0/1": `x\u202ey`, "/a~1b/~0/0": "1", "/a~1b/~0": `[1,"x\u202ey"]`,
		"/a~1b/~0/2": "missing", "/none": "missing", "a": "missing", "/a~1b/~0/x": "missing", "/long/0": "missing",
	}
	for pointer, want := range cases {
		f := actionFields(input, []string{pointer}, uncovered)[0]
		if f.Missing {
			f.Value = "missing"
		}
		if f.Value != want {
			t.Errorf("%s: %q, want %q", pointer, f.Value, want)
		}
	}
	if f := actionFields(input, []string{"/long"}, uncovered)[0]; len(f.Value) > maxFieldText+40 || !strings.HasSuffix(f.Value, "é… (2000 bytes)") {
		t.Errorf("a long value: %d bytes, …%s", len(f.Value), f.Value[len(f.Value)-30:])
	}
	if all := actionFields(input, make([]string, 100), uncovered); len(all) != maxFields {
		t.Errorf("%d fields", len(all))
	}
}

func TestShownInput(t *testing.T) {
	got := ShownInput(json.RawMessage(`{"n":1.50,"command":"ls\nrule: safe\u200b\r","o":{"k":"\u202e"}}`))
	want := "command: ls\n  | rule: safe\\u200b\\r\nn: 1.50\no: {\"k\":\"\\u202e\"}"
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	if got := ShownInput(json.RawMessage("[\"\u200b\"]")); got != `["\u200b"]` {
		t.Errorf("shown: %s", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("ls\x1b[2K\u202e\u200b\xff\u3164")
	f.Fuzz(func(t *testing.T, text string) {
		shown := visible(text)
		for _, r := range shown {
			if r != ' ' && (r < ' ' || strings.ContainsRune("\u200b\u200e\u202e\u2066\u3164\u00ad\ufeff\ufe0f\u00a0\u2800", r)) {
				t.Fatalf("%q is shown as %q, which hides %U", text, shown, r)
			}
		}
		if visible(shown) != shown {
			t.Fatalf("%q is shown as %q, which is not final", text, shown)
		}
	})
}
