package policy

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// liveSet denies the tool Bash by a rule of its own; no file is read.
func liveSet(t testing.TB, rule string) *Set {
	t.Helper()
	set, err := Load(t.Context(), Options{Deadline: time.Minute, OrgModules: map[string]string{"org.rego": `package gatehouse.permission

decisions contains {"effect": "halt", "rule": "` + rule + `", "reason": "no shell"} if input.tool.name == "Bash"
`}, OrgRevision: rule})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func bashCall(t testing.TB) permission.Request {
	dir := t.TempDir()
	return permission.Request{
		SessionID: "s", Door: permission.DoorAsk, ToolUseID: "t", Tool: "Bash", Input: json.RawMessage(`{"command": "ls"}`),
		Session: permission.Session{Cwd: dir, Roots: []string{dir}, Mode: "default"},
	}
}

func TestLiveDecidesByTheSetInForce(t *testing.T) {
	one, two := liveSet(t, "live.one"), liveSet(t, "live.two")
	l := NewLive(one)
	for _, step := range []struct {
		rule string
		set  *Set
	}{{"live.one", nil}, {"live.two", two}, {"live.two", nil}, {"live.one", one}} {
		before := l.Set()
		if step.set != nil && l.Swap(step.set) != before {
			t.Error("Swap returns another set than the one before")
		}
		l.Swap(nil)
		d, err := l.Decide(t.Context(), bashCall(t))
		if err != nil || d.Rule != step.rule || d.Revision != l.Revision() || d.Revisions["org"] != step.rule {
			t.Errorf("decision %+v, %v; want rule %s of revision %s", d, err, step.rule, l.Revision())
		}
		if d, err := l.Admit(t.Context(), admission.Request{Action: admission.List}); err != nil || d.Revision != l.Revision() {
			t.Errorf("admission %+v, %v", d, err)
		}
	}
	if one.Revision() == two.Revision() {
		t.Error("two sets have one revision, so answers of the one would hold under the other")
	}
}

func TestReloadKeepsTheOldSet(t *testing.T) {
	old := liveSet(t, "live.old")
	for name, build := range map[string]func(context.Context) (*Set, error){
		"an error": func(context.Context) (*Set, error) { return nil, errors.New("x.rego:3:1: broken") },
		"a set with an error": func(context.Context) (*Set, error) {
			return liveSet(t, "live.untested"), errors.New("x_test.rego:3: test failed")
		},
		"a panic": func(context.Context) (*Set, error) { panic("broken") },
		"nothing": func(context.Context) (*Set, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLive(old)
			if err := l.Reload(t.Context(), build); err == nil || l.Set() != old {
				t.Errorf("error %v; the old set is in force: %v", err, l.Set() == old)
			}
			fresh := liveSet(t, "live.fresh")
			if err := l.Reload(t.Context(), func(context.Context) (*Set, error) { return fresh, nil }); err != nil || l.Set() != fresh {
				t.Errorf("a good set after it: %v", err)
			}
		})
	}
}

// Calls that wait while one reload runs share the next one; none is served by a
// build that began before it.
func TestReloadsAreCoalesced(t *testing.T) {
	set := liveSet(t, "live.set")
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(set)
		var builds, running atomic.Int64
		build := func(context.Context) (*Set, error) {
			if running.Add(1) > 1 {
				t.Error("two builds run at once")
			}
			defer running.Add(-1)
			time.Sleep(time.Second)
			if builds.Add(1) == 1 {
				return nil, errors.New("first")
			}
			return set, nil
		}
		first := make(chan error, 1)
		go func() { first <- l.Reload(t.Context(), build) }()
		synctest.Wait()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if err := l.Reload(t.Context(), build); err != nil {
					t.Errorf("a later call is told of the first build: %v", err)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := l.Reload(ctx, build); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that gave up waiting: %v", err)
		}
		group.Wait()
		if err := <-first; err == nil || err.Error() != "first" {
			t.Errorf("the first call: %v", err)
		}
		if n := builds.Load(); n != 2 {
			t.Errorf("%d builds for 11 calls, want 2", n)
		}
	})
}

// A build that was given up settles nothing for others.
func TestACancelledReloadIsTriedAgain(t *testing.T) {
	old, fresh := liveSet(t, "live.old"), liveSet(t, "live.fresh")
	l := NewLive(old)
	ctx, cancel := context.WithCancel(t.Context())
	err := l.Reload(ctx, func(context.Context) (*Set, error) { cancel(); return fresh, nil })
	if !errors.Is(err, context.Canceled) || l.Set() != old {
		t.Errorf("cancelled while it built: %v, old set %v", err, l.Set() == old)
	}
	if err := l.Reload(t.Context(), func(context.Context) (*Set, error) { return fresh, nil }); err != nil || l.Set() != fresh {
		t.Errorf("the next: %v", err)
	}
}

// TestSwapsUnderLoad swaps 20 times while calls are judged: each is answered, by
// the rule of one set and with the revision of the same.
func TestSwapsUnderLoad(t *testing.T) {
	const swaps, callers = 20, 4
	sets := []*Set{liveSet(t, "live.one"), liveSet(t, "live.two")}
	ruleOf := map[string]string{sets[0].Revision(): "live.one", sets[1].Revision(): "live.two"}
	l := NewLive(sets[0])
	request := bashCall(t)
	ctx, stop := context.WithCancel(t.Context())
	var decided atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				d, err := l.Decide(t.Context(), request)
				if err != nil || d.Effect != permission.Halt || ruleOf[d.Revision] != d.Rule {
					t.Errorf("decision %+v, %v", d, err)
					return
				}
				decided.Add(1)
			}
		})
	}
	for i := range swaps {
		for seen := decided.Load(); decided.Load() < seen+callers && !t.Failed(); {
			runtime.Gosched()
		}
		if err := l.Reload(t.Context(), func(context.Context) (*Set, error) { return sets[(i+1)%2], nil }); err != nil {
			t.Error(err)
		}
	}
	stop()
	group.Wait()
	if n := decided.Load(); n < swaps*callers {
		t.Errorf("%d decisions over %d swaps", n, swaps)
	}
}

func TestSuitesHoldTheTests(t *testing.T) {
	set, err := Load(t.Context(), Options{OrgData: map[string]any{"tool": "Bash"}, OrgModules: map[string]string{
		"org.rego":      "package gatehouse.permission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"org.no\", \"reason\": \"no\"} if input.tool.name == data.cfg.tool\n",
		"org_test.rego": "package gatehouse.org_test\n\ntest_one if true\n",
	}})
	if err != nil {
		t.Fatal(err)
	}
	suites := set.Suites()
	if len(suites) != 1 || suites[0].Layer != "org" || len(suites[0].Sources) != 2 || suites[0].Data["tool"] != "Bash" {
		t.Errorf("suites %+v", suites)
	}
	if bare := liveSet(t, "live.bare").Suites(); len(bare) != 0 {
		t.Errorf("suites without tests: %+v", bare)
	}
	if strings.Contains(strings.Join(set.Layers()[1].Files, " "), "_test") {
		t.Error("a test decides")
	}
}
