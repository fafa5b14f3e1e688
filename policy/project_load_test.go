package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// startIn asks to begin a session in a folder.
func startIn(t *testing.T, s *Set, cwd, root string) permission.Decision {
	t.Helper()
	d, err := s.Admit(context.Background(), admission.Request{Action: admission.Start, Cwd: cwd, CwdInsideRoots: true, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stubborn is projects whose compiler never ends before the test does.
func stubborn(t *testing.T) (ps *Projects, compiled *atomic.Int32) {
	ps, compiled = NewProjects(), new(atomic.Int32)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	ps.limit = 20 * time.Millisecond
	ps.compile = func(context.Context, []projectPart) ([]*layer, error) {
		compiled.Add(1)
		<-release
		return nil, os.ErrDeadlineExceeded
	}
	return ps, compiled
}

// TestStuckLoads: what does not load in time is never compiled again, and holds
// up neither folders without policies nor other roots.
func TestStuckLoads(t *testing.T) {
	ps, compiled := stubborn(t)
	s := load(t, Options{Projects: ps})
	root, other := workspace(t), workspace(t)
	for i := range maxProjectLoads + 2 {
		sub := filepath.Join(root, fmt.Sprint("d", i))
		projectFile(t, sub, "p.rego", fmt.Sprintf("%s# %d\n", head, i%(maxProjectLoads+1)))
		for range 2 {
			if d := startIn(t, s, sub, root); d.Effect != permission.Deny || d.Rule != projectRule {
				t.Fatalf("folder %d: got %s by %s (%s)", i, d.Effect, d.Rule, d.Reason)
			}
		}
	}
	if n := compiled.Load(); n != maxProjectLoads {
		t.Errorf("compiled %d times, want %d", n, maxProjectLoads)
	}
	if d := startIn(t, s, filepath.Join(root, "src"), root); d.Effect != permission.Allow {
		t.Errorf("a folder without policies: got %s by %s (%s)", d.Effect, d.Rule, d.Reason)
	}
	projectFile(t, other, "p.rego", head+"# 0\n")
	if d := startIn(t, s, other, other); d.Rule != projectRule || compiled.Load() != maxProjectLoads {
		t.Errorf("the same content elsewhere: got %s by %s, compiled %d times", d.Effect, d.Rule, compiled.Load())
	}
	ps.compile, ps.limit = compileProject, projectLoadTime
	projectFile(t, other, "p.rego", head+say("deny", "repo.no", ""))
	if d := startIn(t, s, other, other); d.Effect != permission.Allow {
		t.Errorf("another root: got %s by %s (%s)", d.Effect, d.Rule, d.Reason)
	}
	projectFile(t, root, "p.rego", head+say("deny", "repo.no", ""))
	if d := startIn(t, s, root, root); d.Rule != projectRule || !strings.Contains(d.Reason, "same root") {
		t.Errorf("this root: got %s by %s (%s)", d.Effect, d.Rule, d.Reason)
	}
}

// TestOneCompilation: whoever needs a content waits for the one that compiles it.
func TestOneCompilation(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", head+say("deny", "repo.no", ""))
	ps := NewProjects()
	var compiled atomic.Int32
	ready := make(chan struct{})
	ps.compile = func(ctx context.Context, parts []projectPart) ([]*layer, error) {
		compiled.Add(1)
		<-ready
		return compileProject(ctx, parts)
	}
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		all.Go(func() {
			p, err := ps.find(context.Background(), root, []string{root})
			if err == nil && p.revision() == "" {
				err = os.ErrInvalid
			}
			errs <- err
		})
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ps.find(gone, root, []string{root}); err == nil {
		t.Error("a caller that is gone got an answer")
	}
	close(ready)
	all.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := compiled.Load(); n != 1 {
		t.Errorf("compiled %d times, want 1", n)
	}
}

// TestFoldersWithinTakeNoPlace: the policies of all folders up to the root hold;
// those of a folder within add to them and do not reach into them.
func TestFoldersWithinTakeNoPlace(t *testing.T) {
	root := workspace(t)
	sub := filepath.Join(root, "vendor", "dep")
	projectFile(t, root, "p.rego", head+"trusted if input.title == \"never\"\n"+`decisions contains {"effect": "deny", "rule": "repo.no", "reason": "r"} if { input.tool.name == "Write"; not trusted }`)
	projectFile(t, sub, "p.rego", head+"trusted := true\n"+`decisions contains {"effect": "ask", "rule": "dep.who", "reason": "r"} if input.tool.name == "Read"`)
	s := load(t, Options{})
	var revisions []string
	for _, row := range []struct{ cwd, tool, input, want string }{
		{sub, "Write", `{"file_path":"a","content":""}`, "repo.no"},
		{sub, "Read", `{"file_path":"main.go"}`, "dep.who"},
		{root, "Read", `{"file_path":"main.go"}`, "reads.inside"},
	} {
		r := request(root, row.tool, row.input)
		r.Session.Cwd, r.SessionID = row.cwd, row.cwd
		d := decide(t, s, r)
		if d.Rule != row.want {
			t.Errorf("%s in %s: got %s by %s (%s), want %s", row.tool, row.cwd, d.Effect, d.Rule, d.Reason, row.want)
		}
		revisions = append(revisions, d.Revisions["project"])
	}
	if revisions[0] != revisions[1] || revisions[1] == revisions[2] {
		t.Errorf("revisions %v: want one of both folders, and another of the outer one", revisions)
	}
}
