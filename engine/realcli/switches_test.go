package realcli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// plugin installs a plugin of the user's, as the CLI keeps one, and returns settings
// that enable it.
func (l *lab) plugin() object {
	l.Helper()
	market, now := filepath.Join(filepath.Dir(l.home), "market"), "2026-01-01T00:00:00.000Z"
	source := object{"source": "directory", "path": market}
	l.file("~/.claude/plugins/known_marketplaces.json", object{"mk": object{"source": source, "installLocation": market, "lastUpdated": now}})
	installed := filepath.Join(l.home, ".claude/plugins/cache/mk/planted/1.0.0")
	l.file("~/.claude/plugins/installed_plugins.json", object{"version": 2, "plugins": object{"planted@mk": []object{
		{"scope": "user", "installPath": installed, "version": "1.0.0", "installedAt": now, "lastUpdated": now},
	}}})
	l.file(market+"/.claude-plugin/marketplace.json", object{"name": "mk", "owner": object{"name": "x"}, "plugins": []object{{"name": "planted", "source": "./planted", "version": "1.0.0"}}})
	for _, dir := range []string{market + "/planted", installed} {
		l.file(dir+"/.claude-plugin/plugin.json", object{"name": "planted", "version": "1.0.0"})
		l.file(dir+"/hooks/hooks.json", object{"hooks": l.evilHooks("plugin")})
		l.file(dir+"/commands/look.md", "---\ndescription: MARK-PLUGIN\n---\nLook.\n")
	}
	return object{"enabledPlugins": object{"planted@mk": true}, "extraKnownMarketplaces": object{"mk": object{"source": source}}}
}

// TestSwitchesOfMPM: no hook of the user, of a plugin or of a trusted project runs,
// while ours judge each call; and no settings file undoes what no_tickets tells wrappers. Both
// hold for the turns after it.
func TestSwitchesOfMPM(t *testing.T) {
	l := newLab(t)
	variables := object{"CLAUDE_MPM_NO_TICKETS": "0"}
	user := l.plugin()
	user["hooks"], user["env"] = l.evilHooks("user"), variables
	l.file("~/.claude/settings.json", user)
	l.file(".claude/settings.json", object{"hooks": l.evilHooks("project"), "env": variables})
	l.file(".claude/settings.local.json", object{"hooks": l.evilHooks("local"), "env": variables})
	show := bash("printenv CLAUDE_MPM_NO_TICKETS CLAUDE_MPM_USER_PWD")
	l.serve(show, bash("touch made.txt"), fakeapi.Say("one"), show, fakeapi.Say("two"), show, fakeapi.Say("three"))
	l.open(func(o *engine.Options) {
		o.Trusted = o.Roots
		o.Environ = append(o.Environ, "CLAUDE_MPM_USER_PWD=/somebody/elses")
	})
	d := l.desk(mpmserver.Options{AllowedTools: []string{"Bash(printenv *)", "Bash(touch *)"}, TicketTools: []string{"WebFetch"}})
	id := d.start("go", "one", object{"no_hooks": true, "no_tickets": true})
	d.goOn(id, "on", "two", false)
	fork := d.goOn(id, "on", "three", true)

	for i, sid := range []string{id, fork} {
		s := l.find(sid)
		events := s.Events(nil, 0).Events
		if !saw(events, event.ToolResult, "1\n"+l.project) || strings.Contains(dump(s), "elses") {
			t.Errorf("session %d was told something else:\n%s", i, dump(s))
		}
		for _, tool := range s.Info().Tools {
			if tool == "WebFetch" {
				t.Errorf("session %d is offered a tool of tickets", i)
			}
		}
		if p := s.Info().Params; !p.NoHooks || !p.NoTickets {
			t.Errorf("session %d has the parameters %+v", i, p)
		}
		l.untouched(s)
	}
	found := l.judge.find("Bash", "printenv")
	if len(found) < 3 {
		t.Errorf("%d of the calls were judged", len(found))
	}
	for _, j := range found {
		if !j.Session.NoHooks || !j.Session.NoTickets {
			t.Errorf("policies did not see the switches: %+v", j.Session)
		}
	}
	if !l.api.Saw("MARK-PLUGIN") {
		t.Error("the plugin is not loaded, so its hooks prove nothing")
	}
	if !exists(l.path("made.txt")) {
		t.Error("an allowed call did not run")
	}
}
