package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func TestOwnersServersThatCannotBeRead(t *testing.T) {
	secret := "some" + "-secret"
	for name, c := range map[string]struct {
		write func(*ownerLab)
		told  string
	}{
		"broken":        {func(l *ownerLab) { l.global(`{"mcpServers":{"a":"` + secret) }, "not valid JSON"},
		"wrong form":    {func(l *ownerLab) { l.global(`{"mcpServers":["` + secret + `"]}`) }, "wrong type"},
		"wrong project": {func(l *ownerLab) { l.global(`{"projects":{"$REPO":["` + secret + `"]}}`) }, "wrong type"},
		"too large":     {func(l *ownerLab) { l.global(`{"x":"` + strings.Repeat("x", 16<<20) + `"}`) }, "over 16777216 bytes"},
		"large server":  {func(l *ownerLab) { l.global(`{"mcpServers":{"a":{"command":"` + strings.Repeat("x", 64<<10) + `"}}}`) }, "at most 65536"},
		"a folder": {func(l *ownerLab) {
			if err := os.Mkdir(filepath.Join(l.home, ".claude.json"), 0o700); err != nil {
				l.t.Fatal(err)
			}
		}, "not a regular file"},
		"relative": {func(l *ownerLab) { l.configDir = "config" }, "not an absolute path"},
		"none":     {func(*ownerLab) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newOwnerLab(t)
			c.write(l)
			got, _, s := l.given(nil)
			if len(got) > 0 || find(s, event.Notice, "mcp_servers") != (c.told != "") || !find(s, event.Notice, c.told) && c.told != "" {
				t.Errorf("given %v, want a notice with %q:\n%s", got, c.told, dump(s))
			}
			if find(s, event.Notice, secret) {
				t.Error("the notice holds what stands in the file")
			}
		})
	}
}

func TestProjectServersTheOwnerRefused(t *testing.T) {
	const refusal = `{"disabledMcpjsonServers":["p"]}`
	for name, path := range map[string]func(*ownerLab) string{
		"global":  func(l *ownerLab) string { return "" },
		"user":    func(l *ownerLab) string { return filepath.Join(l.home, ".claude", "settings.json") },
		"project": func(l *ownerLab) string { return filepath.Join(l.cwd(), ".claude", "settings.json") },
		"local":   func(l *ownerLab) string { return filepath.Join(l.cwd(), ".claude", "settings.local.json") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newOwnerLab(t)
			l.trusted = true
			l.file(filepath.Join(l.cwd(), ".mcp.json"), `{"mcpServers":{"p":{"command":"p"},"q":{"command":"q"}}}`)
			if file := path(l); file != "" {
				l.file(file, refusal)
			} else {
				l.global(`{"projects":{"$REPO":` + refusal + `}}`)
			}
			got, _, s := l.given(nil)
			if names(got) != "q=q" || !find(s, event.Notice, `{"name":"p","source":"project","rule":"engine.server_disabled"`) {
				t.Errorf("given %q:\n%s", names(got), dump(s))
			}
		})
	}
}

func TestProjectServersFollowNoLinkOut(t *testing.T) {
	l := newOwnerLab(t)
	l.trusted = true
	outside := filepath.Join(l.home, "servers.json")
	l.file(outside, `{"mcpServers":{"p":{"command":"p"}}}`)
	if err := os.Symlink(outside, filepath.Join(l.cwd(), ".mcp.json")); err != nil {
		t.Skipf("links cannot be made by this user: %v", err)
	}
	got, _, s := l.given(nil)
	if len(got) > 0 || !find(s, event.Notice, `"source":"project","rule":"engine.server_file"`) {
		t.Errorf("given %q:\n%s", names(got), dump(s))
	}
}
