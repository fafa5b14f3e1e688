package main

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// announced keeps what sessions would be told.
type announced []engine.Announcement

func (a *announced) Announce(n engine.Announcement) { *a = append(*a, n) }

// What sessions are told stands as long as some plugin is not healthy.
func TestPluginNews(t *testing.T) {
	var told announced
	n := newPluginNews(scanRedactor{}, nil, slog.New(slog.DiscardHandler))
	n.announceTo(&told)
	say := func(name string, kind plugins.NewsKind) {
		n.tell(plugins.News{Kind: kind, Plugin: plugins.Info{Name: name, SHA256: aPin}, Error: "trapped\x1b[31m"})
	}
	say("a", plugins.Unhealthy)
	say("b", plugins.Unhealthy)
	say("a", plugins.Healthy)
	say("b", plugins.Unloaded)
	say("c", plugins.Loaded)
	n.close()
	n.close()
	say("d", plugins.Loaded) // too late, and no block
	want := []struct {
		message  string
		standing bool
	}{
		{`plugin "a" failed 5 times in a row`, true},
		{`trapped\x1b[31m; not healthy: a`, true},
		{`plugin "a" works again; not healthy: b`, true},
		{`plugin "b" was removed`, false},
		{`plugin "c" is in force, sha256 abababababab`, false},
	}
	if len(told) != len(want) {
		t.Fatalf("told %d times: %+v", len(told), told)
	}
	for i, w := range want {
		if a := told[i]; a.Type != noticePlugin || a.Standing != w.standing || !strings.Contains(a.Message, w.message) {
			t.Errorf("told %+v, want %q, standing %v", a, w.message, w.standing)
		}
	}
}

func TestPluginErrorsHavePlaces(t *testing.T) {
	s := pluginSettings{at: map[string]string{"x": "user.toml:3", "y": "org.toml:1"}}
	got := s.located(errors.New("plugin \"x\": one\nplugin \"z\": two\nplugin \"y\": three\nplugins: four"))
	if want := "user.toml:3: plugin \"x\": one\nplugin \"z\": two\norg.toml:1: plugin \"y\": three\nplugins: four"; got.Error() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := errors.AsType[*pluginsError](got); !ok {
		t.Error("it passes for an error of policies")
	}
	if err := s.located(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// A user cannot steer the organisation's plugins by data of the same name.
func TestPluginDataOfTheOrganisation(t *testing.T) {
	got := overlaid(map[string]any{"a": 1, "b": 1}, map[string]any{"b": 2})
	if want := map[string]any{"a": 1, "b": 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
