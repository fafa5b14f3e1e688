package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// projectFile writes a file below .gatehouse of a folder.
func projectFile(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, projectFolder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProjectTightens: what a repository's policies say counts where it forbids
// or asks, and nowhere else.
func TestProjectTightens(t *testing.T) {
	read, unknown := `{"file_path":"main.go"}`, `{}`
	for _, row := range []struct {
		name, text, tool, input string
		o                       Options
		want                    permission.Effect
		rule                    string
	}{
		{"deny", say("deny", "repo.no", ""), "Read", read, Options{}, permission.Deny, "repo.no"},
		{"halt", say("halt", "repo.stop", ""), "Read", read, Options{}, permission.Halt, "repo.stop"},
		{"ask", say("ask", "repo.who", ""), "Read", read, Options{}, permission.Ask, "repo.who"},
		{"computed allow", `decisions contains {"effect": lower("ALLOW"), "rule": "repo.all"}`, "mcp__a__b", unknown, Options{}, permission.Ask, "engine.default"},
		{"computed modify", `decisions contains {"effect": lower("MODIFY"), "rule": "repo.all", "reason": "r", "ops": [{"op": "set", "path": "/x", "value": 1}]}`, "Read", read, Options{}, permission.Allow, "reads.inside"},
		{"no ask where nothing is asked", say("ask", "repo.who", ""), "mcp__a__b", unknown, Options{DefaultEffect: "deny"}, permission.Deny, "engine.default"},
		{"runtime error", `decisions contains {"effect": "deny", "rule": "repo.bad", "reason": "r"} if regex.match(input.tool.input.x, "x")`, "mcp__a__b", `{"x":"("}`, Options{}, permission.Deny, "engine.error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := workspace(t)
			projectFile(t, root, "p.rego", head+row.text)
			d := decide(t, load(t, row.o), request(root, row.tool, row.input))
			if d.Effect != row.want || d.Rule != row.rule || d.UpdatedInput != nil {
				t.Errorf("got %s by %s (%s) %s, want %s by %s", d.Effect, d.Rule, d.Reason, d.UpdatedInput, row.want, row.rule)
			}
			if d.Revisions["project"] == "" {
				t.Errorf("revisions %v", d.Revisions)
			}
		})
	}
}

func TestProjectTermsAreNarrow(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", head+say("ask", "repo.who", `, "ask": {"approver": "human", "scope": "session", "ttl_s": 900, "timeout_s": 9000}, "labels": {"team": "repo", "kind": "repo"}`))
	s := load(t, Options{Paths: []string{userPolicy(t, head+say("allow", "user.all", `, "labels": {"team": "user"}`))}})
	d := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
	if d.Ask.Approver != "human" || d.Ask.Scope != "" || d.Ask.TTLSeconds != 0 || d.Ask.TimeoutSeconds != 0 {
		t.Errorf("terms %+v", d.Ask)
	}
	if d.Labels["team"] != "user" || d.Labels["kind"] != "repo" {
		t.Errorf("labels %v", d.Labels)
	}
}

// TestProjectTrapsAtLoad: a start in a folder whose policies do not load is
// refused, and every call there as well.
func TestProjectTrapsAtLoad(t *testing.T) {
	for _, row := range []struct{ name, file, text, want string }{
		{"literal allow", "p.rego", head + say("allow", "repo.all", ""), "may only tighten"},
		{"literal modify", "p.rego", head + say("modify", "repo.all", `, "ops": []`), "may only tighten"},
		{"context", "p.rego", head + say("deny", "repo.no", `, "context": ["do as I say"]`), "context"},
		{"admission that asks", "p.rego", "package gatehouse.admission\n\n" + say("ask", "repo.who", ""), "may only tighten"},
		{"syntax", "p.rego", head + "decisions contains {", "p.rego:"},
		{"library", "p.rego", "package gatehouse.lib.permission\n\nx := 1", "a project's policies live in"},
		{"data", "p.rego", head + `decisions contains {"effect": "deny", "rule": "r.x", "reason": "r"} if data.cfg.x`, "has no data"},
		{"with", "p.rego", head + "x if input.title == \"x\"\n\n" + `decisions contains {"effect": "deny", "rule": "r.x", "reason": "r"} if x with input.title as "x"`, "with"},
		{"sprintf", "p.rego", head + `decisions contains {"effect": "deny", "rule": "r.x", "reason": sprintf("%s", ["x"])}`, "sprintf"},
		{"concat", "p.rego", head + `decisions contains {"effect": "deny", "rule": "r.x", "reason": concat("", ["x"])}`, "concat"},
		{"walk", "p.rego", head + `decisions contains {"effect": "deny", "rule": "r.x", "reason": "r"} if walk(input, [["x"], _])`, "walk"},
		{"range", "p.rego", head + `decisions contains {"effect": "deny", "rule": "r.x", "reason": "r"} if 3 in numbers.range(1, 9)`, "numbers.range"},
		{"nesting", "p.rego", head + "x := " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "brackets"},
		{"nesting behind a text", "p.rego", head + "x := " + strings.Repeat(`["]",`, 100) + strings.Repeat("]", 100), "brackets"},
		{"text with expressions", "p.rego", head + "x := $\"{1}\"", "$ texts"},
		{"too large", "p.rego", head + "# " + strings.Repeat("x", maxProjectBytes), "bytes together"},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := workspace(t)
			projectFile(t, root, row.file, row.text)
			s := load(t, Options{})
			d, err := s.Admit(context.Background(), admission.Request{Action: admission.Start, Cwd: root, CwdInsideRoots: true, Roots: []string{root}})
			if err != nil || d.Effect != permission.Deny || d.Rule != projectRule || !strings.Contains(d.Reason, row.want) || !strings.Contains(d.Reason, row.file) {
				t.Errorf("got %s by %s (%s), %v, want a deny by %s that names %q", d.Effect, d.Rule, d.Reason, err, projectRule, row.want)
			}
			if d := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`)); d.Effect != permission.Deny || d.Rule != projectRule {
				t.Errorf("a call: got %s by %s, want deny by %s", d.Effect, d.Rule, projectRule)
			}
		})
	}
}

func TestProjectAdmission(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", "package gatehouse.admission\n\n"+`decisions contains {"effect": "deny", "rule": "repo.closed", "reason": "closed"}`)
	s := load(t, Options{})
	for action, want := range map[admission.Action]permission.Effect{
		admission.Start: permission.Deny, admission.Resume: permission.Deny, admission.Reply: permission.Deny,
		admission.Cancel: permission.Allow, admission.List: permission.Allow, // a repository keeps nobody from stopping what runs in it
	} {
		d, err := s.Admit(context.Background(), admission.Request{
			Action: action, SessionID: "s", Cwd: root, CwdInsideRoots: true, Roots: []string{root},
			Session: permission.Session{Cwd: root, Roots: []string{root}},
		})
		if err != nil || d.Effect != want {
			t.Errorf("%s: got %s by %s (%s), %v, want %s", action, d.Effect, d.Rule, d.Reason, err, want)
		}
	}
}

// TestProjectHoldsForTheSession: what the first call finds holds for good, over
// a reload too; another session takes what is there then.
func TestProjectHoldsForTheSession(t *testing.T) {
	root := workspace(t)
	sub := filepath.Join(root, "src")
	projectFile(t, root, "p.rego", head+say("deny", "repo.one", ""))
	projects := NewProjects()
	s := load(t, Options{Projects: projects})
	r := request(root, "Read", `{"file_path":"a.go"}`)
	r.Session.Cwd = sub
	rule := func(s *Set, id string) string { r := r; r.SessionID = id; return decide(t, s, r).Rule }
	if got := rule(s, "a"); got != "repo.one" {
		t.Fatalf("got %s, want repo.one from the folder above", got)
	}
	projectFile(t, root, "p.rego", head+say("deny", "repo.two", ""))
	reloaded := load(t, Options{Projects: projects, Grants: []string{"*"}})
	if a, b := rule(reloaded, "a"), rule(reloaded, "b"); a != "repo.one" || b != "repo.two" {
		t.Errorf("session a has %s, b has %s", a, b)
	}
	for i := range maxProjects + 1 { // others push it out
		projects.loaded.put(binding{digest: fmt.Sprint(i)}, &project{err: os.ErrInvalid})
	}
	if got := rule(reloaded, "a"); got != projectRule {
		t.Errorf("after it was forgotten: got %s, want %s", got, projectRule)
	}
	if got := rule(reloaded, "b"); got != "repo.two" {
		t.Errorf("unchanged on disk: got %s, want repo.two", got)
	}
	if _, err := reloaded.Admit(context.Background(), admission.Request{Action: admission.Resume, SessionID: "a", Cwd: sub, CwdInsideRoots: true, Roots: []string{root}}); err != nil {
		t.Fatal(err)
	}
	if got := rule(reloaded, "a"); got != "repo.two" {
		t.Errorf("resumed: got %s, want repo.two", got)
	}
}

func TestProjectIsFoundWithinTheRoot(t *testing.T) {
	root := workspace(t)
	top := filepath.Dir(root)
	projectFile(t, top, "p.rego", head+say("deny", "top.no", ""))
	if found, err := findProject(root, []string{root}); err != nil || found != nil {
		t.Errorf("above the root: %v %v", found, err)
	}
	if found, err := findProject(root, []string{top}); err != nil || len(found) != 1 || found[0].folder != top {
		t.Errorf("in a wider root: %v %v", found, err)
	}
	projectFile(t, root, "a.rego", "package gatehouse.permission")
	projectFile(t, root, "b/c.rego", "package gatehouse.permission")
	projectFile(t, root, "d.txt", "x")
	if found, err := findProject(filepath.Join(root, "src"), []string{root}); err != nil || len(found) != 1 || len(found[0].sources) != 1 || found[0].folder != root {
		t.Errorf("from a folder within: %v %v", found, err)
	}
	if found, err := findProject(filepath.Join(root, "src"), []string{root, top}); err != nil || len(found) != 2 || found[0].folder != top || found[1].folder != root {
		t.Errorf("two folders: %v %v", found, err)
	}
	if err := os.Symlink("a.rego", filepath.Join(root, projectFolder, "e.rego")); err != nil {
		t.Fatal(err)
	}
	if _, err := findProject(root, []string{root}); err == nil || !strings.Contains(err.Error(), "links") {
		t.Errorf("a link: %v", err)
	}
	if err := os.Rename(filepath.Join(root, projectFolder), filepath.Join(top, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "moved"), filepath.Join(root, projectFolder)); err != nil {
		t.Fatal(err)
	}
	if _, err := findProject(root, []string{root}); err == nil || !strings.Contains(err.Error(), "links") {
		t.Errorf("a linked folder: %v", err)
	}
}

// TestProjectBoundsAreOfAllFolders: files in several folders count together.
func TestProjectBoundsAreOfAllFolders(t *testing.T) {
	top := t.TempDir()
	sub := filepath.Join(top, "sub")
	for i := range maxProjectFiles {
		projectFile(t, []string{top, sub}[i%2], fmt.Sprintf("%d.rego", i), "package gatehouse.permission")
	}
	if found, err := findProject(sub, []string{top}); err != nil || len(found) != 2 {
		t.Fatalf("%d files: %v %v", maxProjectFiles, found, err)
	}
	projectFile(t, top, "more.rego", "package gatehouse.permission")
	if _, err := findProject(sub, []string{top}); err == nil || !strings.Contains(err.Error(), "more than 32 .rego files") {
		t.Errorf("one more: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(top, projectFolder)); err != nil {
		t.Fatal(err)
	}
	projectFile(t, top, "p.rego", "package gatehouse.permission # "+strings.Repeat("x", maxProjectBytes-100))
	if _, err := findProject(sub, []string{top}); err == nil || !strings.Contains(err.Error(), "bytes together") {
		t.Errorf("too many bytes: %v", err)
	}
}

// TestStuckProjectHoldsUpNobodyElse: once an evaluation ignores its deadline that
// folder's calls are denied, and the server's own count stays at none.
func TestStuckProjectHoldsUpNobodyElse(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", head+say("deny", "repo.no", ""))
	s := load(t, Options{})
	r := request(root, "Read", `{"file_path":"main.go"}`)
	p, err := s.projectOf(context.Background(), r.SessionID, r.Session)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	if _, late := watch(context.Background(), &p.guard, time.Millisecond, 0, func(context.Context) bool { <-release; return true }); !late {
		t.Fatal("it was not late")
	}
	if d := decide(t, s, r); d.Effect != permission.Deny || d.Rule != projectRule {
		t.Errorf("got %s by %s, want deny by %s", d.Effect, d.Rule, projectRule)
	}
	elsewhere := request(workspace(t), "Read", `{"file_path":"main.go"}`)
	elsewhere.SessionID = "other"
	if d := decide(t, s, elsewhere); d.Effect != permission.Allow || s.guard.stuck.Load() != 0 {
		t.Errorf("elsewhere: got %s by %s, %d stuck", d.Effect, d.Rule, s.guard.stuck.Load())
	}
	close(release)
}

func TestProjectIsEvaluatedWithItsDocument(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", head+`decisions contains {"effect": lower("ALLOW"), "rule": "repo.all"}`)
	s := load(t, Options{})
	document, err := s.Document(request(root, "Read", `{"file_path":"main.go"}`))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := s.Evaluate(context.Background(), EntryPermission, document)
	if err != nil {
		t.Fatal(err)
	}
	last := ev.Layers[len(ev.Layers)-1]
	if last.Name != "project" || len(last.Verdicts) != 1 || last.Verdicts[0].Ignored != onlyTighten || !slices.Contains(ev.Decision.Rules, "ignored:repo.all") {
		t.Errorf("%+v, rules %v", last, ev.Decision.Rules)
	}
	elsewhere, err := load(t, Options{}).Evaluate(context.Background(), EntryPermission, document)
	if last = elsewhere.Layers[len(elsewhere.Layers)-1]; err != nil || last.Name != "project" || last.Failure == "" {
		t.Errorf("where it is not loaded: %+v, %v", last, err)
	}
}
