package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// hall keeps what sessions would be told.
type hall struct {
	mu   sync.Mutex
	said []engine.Announcement
}

func (h *hall) Announce(a engine.Announcement) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, a)
}

func (h *hall) take() []engine.Announcement {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := h.said
	h.said = nil
	return said
}

// estate is a configuration with policies, in a folder of its own.
type estate struct {
	t      *testing.T
	folder string
	log    bytes.Buffer
	told   hall
	reads  atomic.Int64
	broken error // of reading the configuration, besides its own
}

const plainRule = `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "mine.one", "reason": "no"} if input.tool.name == "Bash"
`

func newEstate(t *testing.T) *estate {
	e := &estate{t: t, folder: t.TempDir()}
	e.write("gatehouse.toml", "policy.paths = [\"policies\"]\n")
	e.write("policies/one.rego", plainRule)
	return e
}

func (e *estate) path(name string) string { return filepath.Join(e.folder, name) }

func (e *estate) write(name, text string) {
	e.t.Helper()
	if err := os.MkdirAll(filepath.Dir(e.path(name)), 0o700); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(e.path(name), []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

func (e *estate) read() (*settings, error) {
	e.reads.Add(1)
	if e.broken != nil {
		return nil, e.broken
	}
	env := environment{"HOME=" + e.folder, "USERPROFILE=" + e.folder}
	l, err := loadConfig(e.path("organisation.toml"), e.path("gatehouse.toml"), env)
	if err != nil {
		return nil, err
	}
	return l.check(e.path("policies"), env)
}

func (e *estate) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&e.log, nil)) }

func (e *estate) open() *rollout {
	e.t.Helper()
	s, err := e.read()
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := openRollout(e.t.Context(), s, e.logger())
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// reload reloads as a change does and returns what was told.
func (e *estate) reload(r *rollout) []engine.Announcement {
	r.reload(e.t.Context(), &e.told, e.read, false)
	return e.told.take()
}

func TestReloadTakesWhatIsWhole(t *testing.T) {
	e := newEstate(t)
	r := e.open()
	first := r.live.Revision()
	if said := e.reload(r); len(said) != 0 || r.live.Revision() != first {
		t.Fatalf("nothing changed, and it is told: %+v", said)
	}
	e.write("policies/two.rego", strings.ReplaceAll(plainRule, "mine.one", "mine.two"))
	said := e.reload(r)
	if len(said) != 1 || said[0].Standing || said[0].Message != "policies reloaded, revision "+r.live.Revision() || r.live.Revision() == first {
		t.Errorf("told %+v, revision %s", said, r.live.Revision())
	}
}

func TestReloadKeepsWhatHolds(t *testing.T) {
	const test = "package gatehouse.one_test\n\nimport data.gatehouse.permission\n\ntest_denied if \"deny\" in {d.effect | some d in permission.decisions} with input as {\"tool\": {\"name\": \"Bash\"}}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // of file and line, and what is wrong
	}{
		{"syntax", map[string]string{"policies/one.rego": plainRule + "\nx if {"}, `one.rego:5`},
		{"an unknown field", map[string]string{"policies/one.rego": strings.ReplaceAll(plainRule, "tool.name", "tol.name")}, `one.rego:3`},
		{"an unknown effect", map[string]string{"policies/one.rego": strings.ReplaceAll(plainRule, `"deny"`, `"refuse"`)}, `one.rego:3`},
		{"a test", map[string]string{"policies/one_test.rego": test, "policies/one.rego": strings.ReplaceAll(plainRule, "Bash", "Read")}, `one_test.rego:5: test gatehouse.one_test.test_denied failed`},
		{"a test that does not compile", map[string]string{"policies/one_test.rego": "package gatehouse.one_test\n\ntest_it if nothing.here\n"}, "one_test.rego:3"},
		{"the configuration", map[string]string{"gatehouse.toml": "policy.path = []\n"}, "gatehouse.toml:1: unknown key"},
		{"data", map[string]string{"gatehouse.toml": "policy.paths = [\"policies\"]\npolicy.data = [\"d.toml\"]\n", "d.toml": "x ="}, "d.toml:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEstate(t)
			r := e.open()
			set := r.live.Set()
			for name, text := range c.files {
				e.write(name, text)
			}
			said := e.reload(r)
			if len(said) != 1 || !said[0].Standing || !strings.Contains(said[0].Message, c.want) || said[0].More["policyRevision"] != set.Revision() {
				t.Errorf("told %+v, want %q", said, c.want)
			}
			if r.live.Set() != set {
				t.Error("the old set is no longer in force")
			}
			if !strings.Contains(e.log.String(), "could not be reloaded") {
				t.Errorf("logged %s", &e.log)
			}
			e.write("gatehouse.toml", "policy.paths = [\"policies\"]\n")
			e.write("policies/one.rego", plainRule)
			os.Remove(e.path("policies/one_test.rego"))
			if said := e.reload(r); len(said) != 1 || said[0].Standing || !strings.Contains(said[0].Message, "policies reloaded") {
				t.Errorf("after the repair: %+v", said)
			}
		})
	}
}

func TestReloadOfTheConfiguration(t *testing.T) {
	e := newEstate(t)
	r := e.open()
	e.write("gatehouse.toml", "profile = \"readonly\"\npolicy.paths = [\"policies\"]\ngrants.parameters = [\"debug\"]\nlimits.idle_ttl = \"5m\"\n[cli]\nargs = [\"x\"]\n")
	said := e.reload(r)
	if len(said) != 1 || !slices.Equal(said[0].More["needsRestart"].([]string), []string{"cli.args", "limits.idle_ttl"}) {
		t.Fatalf("told %+v", said)
	}
	if s := r.settings; s.profile != "readonly" || len(s.grants) != 1 {
		t.Errorf("settings %+v", s)
	}
	if said := e.reload(r); len(said) != 0 {
		t.Errorf("told again: %+v", said)
	}
	e.write("gatehouse.toml", "profile = \"locked\"\npolicy.paths = [\"policies\"]\n")
	if said := e.reload(r); len(said) != 1 || !strings.Contains(said[0].Message, "profile (attachments") {
		t.Errorf("told %+v", said)
	}
}

// TestFollow plays a day of a server in a bubble, where time costs nothing.
func TestFollow(t *testing.T) {
	e := newEstate(t)
	r := e.open()
	first := r.live.Set()
	synctest.Test(t, func(t *testing.T) {
		hangup := make(chan os.Signal, 1)
		stop := r.follow(t.Context(), &e.told, e.read, hangup)
		defer stop()
		synctest.Wait() // also orders what the goroutine does before what follows
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(time.Hour)
		if said, reads := e.told.take(), e.reads.Load(); len(said) != 0 || reads != 2 {
			t.Fatalf("nothing changed; told %+v, %d reads", said, reads)
		}
		e.write("policies/two.rego", strings.ReplaceAll(plainRule, "mine.one", "mine.two"))
		pass(lookEvery)
		if said := e.told.take(); len(said) != 0 {
			t.Error("the first look acts already")
		}
		pass(lookEvery)
		if said := e.told.take(); len(said) != 1 || r.live.Set() == first {
			t.Errorf("two looks after the change: %+v", said)
		}
		e.write("gatehouse.toml", "policy.paths = [\"other\"]\n")
		pass(3 * lookEvery)
		if said := e.told.take(); len(said) != 1 || !said[0].Standing {
			t.Errorf("a folder that is not there: %+v", said)
		}
		e.write("other/one.rego", plainRule)
		e.write("gatehouse.toml", "policy.paths = [\"other\"] # now\n")
		pass(3 * lookEvery)
		if said := e.told.take(); len(said) != 1 || said[0].Standing {
			t.Errorf("the folder has come: %+v", said)
		}
		e.write("policies/two.rego", "no longer read")
		pass(time.Minute)
		if said := e.told.take(); len(said) != 0 {
			t.Errorf("a file that counts no more: %+v", said)
		}
		hangup <- os.Interrupt
		pass(0)
		if said := e.told.take(); len(said) != 1 || !strings.Contains(said[0].Message, "policies reloaded") {
			t.Errorf("after a signal: %+v", said)
		}
		e.broken = errors.New("gatehouse.toml:1: broken")
		hangup <- os.Interrupt
		pass(0)
		if said := e.told.take(); len(said) != 1 || !strings.Contains(said[0].Message, "gatehouse.toml:1: broken") {
			t.Errorf("a configuration that does not load: %+v", said)
		}
	})
}

// The configuration may change between its reading and the first look.
func TestAChangeDuringTheStartIsSeen(t *testing.T) {
	e := newEstate(t)
	r := e.open()
	e.write("gatehouse.toml", "profile = \"readonly\"\npolicy.paths = [\"policies\"]\n")
	ctx, cancel := context.WithCancel(t.Context())
	synctest.Test(t, func(t *testing.T) {
		stop := r.follow(ctx, &e.told, e.read, nil)
		synctest.Wait()
		if said := e.told.take(); len(said) != 1 || r.settings.profile != "readonly" {
			t.Errorf("told %+v, profile %s", said, r.settings.profile)
		}
		cancel()
		stop()
	})
}

func TestChangedKeys(t *testing.T) {
	a, b := defaultConfig(), defaultConfig()
	if keys := changedKeys(a, b); len(keys) != 0 {
		t.Errorf("equal configurations differ in %q", keys)
	}
	b.Profile, b.Policy.Paths, b.Policy.Bundle.URL, b.Grants.Parameters, b.Lock.Keys = "ci", []string{"x"}, "https://x/", []string{"*"}, []string{"y"}
	b.CLI.Args, b.Workspace.Roots, b.Limits.MaxConcurrent = []string{"x"}, []string{"/r"}, 7
	if keys := changedKeys(a, b); !slices.Equal(keys, []string{"cli.args", "limits.max_concurrent", "workspace.roots"}) {
		t.Errorf("changed keys %q", keys)
	}
}
