//go:build linux || darwin

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/filter"
)

func TestFilterSpeaksAsTheEngine(t *testing.T) {
	if filterName != filter.Name || filterSpec != filter.SpecVariable || filterSum != filter.SumVariable || filterMode != filter.ModeVariable || maxFilterSpec != filter.MaxSpec {
		t.Error("the engine and package filter use other names")
	}
}

// filterOptions are options with a filter whose plan is a text.
func filterOptions(t *testing.T, spec string, err error) Options {
	t.Helper()
	dir, evalErr := filepath.EvalSymlinks(t.TempDir())
	if evalErr != nil {
		t.Fatal(evalErr)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Options{
		Roots: []string{dir}, Filter: program, StateDir: filepath.Join(dir, "state"), TempDir: dir,
		FilterSpec: func(context.Context, *event.Origin) (string, error) { return spec, err },
	}
}

func filteredSession(t *testing.T, o Options) *Session {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	return e.newSession(StartParams{}, "")
}

func TestFilterOptions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string // of the error; empty: none
	}{
		{"as they should be", func(*Options) {}, ""},
		{"none", func(o *Options) { o.Filter, o.FilterSpec = "", nil }, ""},
		{"no plan", func(o *Options) { o.FilterSpec = nil }, "FilterSpec"},
		{"relative", func(o *Options) { o.Filter = "program" }, "not an absolute path"},
		{"split state folder", func(o *Options) { o.StateDir += " -x" }, ""},
		{"nowhere", func(o *Options) { o.StateDir, o.TempDir = "", o.TempDir+" -x" }, `" -"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := filterOptions(t, "{}", nil)
			tt.change(&o)
			e, err := New(o)
			if err == nil {
				defer e.Close(t.Context())
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFilterLink(t *testing.T) {
	o := filterOptions(t, "{}", nil)
	s := filteredSession(t, o)
	f, err := s.filtering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(f.path); err != nil || to != o.Filter || filepath.Base(f.path) != filterName || !strings.HasPrefix(f.path, o.StateDir) {
		t.Fatalf("link %s to %s, %v", f.path, to, err)
	}
	t.Run("replaced", func(t *testing.T) {
		os.Remove(f.path)
		if err := os.WriteFile(f.path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := s.filtering(t.Context()); err != nil {
			t.Error(err)
		}
		if to, err := os.Readlink(f.path); err != nil || to != o.Filter {
			t.Errorf("link to %q, %v", to, err)
		}
	})
	t.Run("open to others", func(t *testing.T) {
		os.Chmod(filepath.Dir(f.path), 0o777)
		defer os.Chmod(filepath.Dir(f.path), 0o700)
		if _, err := s.filtering(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody else can enter") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("program gone", func(t *testing.T) {
		os.Remove(o.Filter)
		if _, err := s.filtering(t.Context()); CodeOf(err) != Internal || !strings.Contains(err.Error(), "not started") {
			t.Errorf("error %v", err)
		}
	})
}

// Without a folder that will do, the link lies in one that goes with the engine.
func TestFilterLinkInATemporaryFolder(t *testing.T) {
	o := filterOptions(t, "{}", nil)
	o.StateDir = ""
	s := filteredSession(t, o)
	for range 2 { // the second time after a cleaner was there
		f, err := s.filtering(t.Context())
		if err != nil || !strings.HasPrefix(f.path, o.TempDir) {
			t.Fatalf("path %q, %v", f.path, err)
		}
		os.RemoveAll(filepath.Dir(f.path))
	}
	f, err := s.filtering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.engine.Close(t.Context())
	if _, err := os.Stat(filepath.Dir(f.path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestFilterSpecFails(t *testing.T) {
	for name, o := range map[string]Options{
		"policy": filterOptions(t, "", errors.New("no policy answers")),
		"size":   filterOptions(t, strings.Repeat("x", maxFilterSpec+1), nil),
	} {
		if _, err := filteredSession(t, o).filtering(t.Context()); CodeOf(err) != Internal || !strings.Contains(err.Error(), "the session was not started") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestFilterWiring(t *testing.T) {
	s := filteredSession(t, filterOptions(t, `{"options":{}}`, nil))
	f, err := s.filtering(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	env := f.environment()
	if !slices.Contains(env, shellPrefix+"="+f.path) || !slices.Contains(env, filterSpec+`={"options":{}}`) || len(f.sum) != 64 {
		t.Errorf("environment %v", env)
	}
	settings, err := s.settings(launch{filter: f})
	if err != nil || !strings.Contains(settings, `"env":{"CLAUDE_CODE_SHELL_PREFIX":"`+f.path+`","GATEHOUSE_FILTER_SUM":"`+f.sum+`"}`) || strings.Contains(settings, `{\"options`) {
		t.Errorf("settings %s, %v", settings, err)
	}
	if none, _ := s.settings(launch{}); strings.Contains(none, `"env"`) {
		t.Errorf("without a filter: %s", none)
	}
}

func TestServersAreMarkedForTheFilter(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"stdio", `{"type":"stdio","command":"c","args":["a"]}`, `{"args":["a"],"command":"c","env":{"GATEHOUSE_FILTER_MODE":"mcp:my_one"},"type":"stdio"}`},
		{"no type", `{"command":"c","env":{"A":"1"}}`, `{"command":"c","env":{"A":"1","GATEHOUSE_FILTER_MODE":"mcp:my_one"}}`},
		{"type with an escape", `{"type":"st\u0064io","command":"c"}`, `{"command":"c","env":{"GATEHOUSE_FILTER_MODE":"mcp:my_one"},"type":"st\u0064io"}`},
		{"our names in its own", `{"command":"c","env":{"GATEHOUSE_FILTER":"{}","GATEHOUSE_FILTER_MODE":"","GATEHOUSE_FILTER_SUM":"x"}}`, `{"command":"c","env":{"GATEHOUSE_FILTER_MODE":"mcp:my_one"}}`},
		{"http", `{"type":"http","url":"u","env":{}}`, `{"type":"http","url":"u","env":{}}`},
		{"no object", `7`, `7`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := filtering{path: "/p"}.mark(json.RawMessage(`{"my one":` + tt.in + `}`))
			if want := `{"my one":` + tt.want + `}`; err != nil || string(got) != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
			if got, _ := (filtering{}).mark(json.RawMessage(tt.in)); string(got) != tt.in {
				t.Errorf("without a filter: %s", got)
			}
		})
	}
}
