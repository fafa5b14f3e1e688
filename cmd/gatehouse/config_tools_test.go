package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// checked reads a user's file below an organisation's as a server does.
func checked(t *testing.T, o *options, org, user string, env ...string) (*settings, error) {
	t.Helper()
	folder := files(t, map[string]string{"org.toml": org, "user.toml": user})
	e := append(environment{"HOME=" + folder, "USERPROFILE=" + folder}, env...)
	l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), e)
	if err != nil {
		return nil, err
	}
	if err := o.override(l); err != nil {
		return nil, err
	}
	if err := l.overlay(e); err != nil {
		return nil, err
	}
	start, err := o.mpmStart(l, t.TempDir(), e)
	if err != nil {
		return nil, err
	}
	return l.check(start, e)
}

func TestToolsAndMPMAreChecked(t *testing.T) {
	for _, tt := range []struct{ name, user, wrong string }{
		{"no family", "[tools]\nfamilies = []\n", "user.toml:2: tools.families: names none"},
		{"unknown family", "[tools]\nfamilies = [\"claude\"]\n", `user.toml:2: tools.families: "claude" is unknown, want one of claude_code, mpm; the nearest is "claude_code"`},
		{"family twice", "[tools]\nfamilies = [\"mpm\", \"mpm\"]\n", `user.toml:2: tools.families: "mpm" stands there twice`},
		{"unknown key", "[tools]\nfamily = []\n", `user.toml:2: unknown key "tools.family"; the nearest known key is "tools.families"`},
		{"type", "[tools]\nsync = 1\n", `user.toml:2: key "tools.sync" wants a boolean, found an integer`},
		{"bypass too long", "[tools]\nbypass_ttl = \"25h\"\n", "user.toml:2: tools.bypass_ttl: 25h is out of bounds, want 1s to 24h0m0s"},
		{"bypass too short", "[tools]\nbypass_ttl = \"1ms\"\n", "user.toml:2: tools.bypass_ttl: 1ms is out of bounds"},
		{"timeout", "[mpm]\ntimeout = \"600\"\n", `user.toml:2: mpm.timeout: "600" is no duration`},
		{"folder", "[mpm]\nworking_directory = \"/nowhere/at/all\"\n", "user.toml:2: mpm.working_directory: "},
		{"relative folder", "[mpm]\nworking_directory = \"src\"\n", `user.toml:2: mpm.working_directory: "src" must be absolute`},
		{"mode", "[mpm]\npermission_mode = \"dontask\"\n", `user.toml:2: mpm.permission_mode: "dontask" is unknown, want one of default, acceptEdits, plan, dontAsk, delegate, bypassPermissions; the nearest is "dontAsk"`},
		{"bypass nobody can enable", "tools.families = [\"mpm\"]\nmpm.permission_mode = \"bypassPermissions\"\n", "user.toml:2: mpm.permission_mode: \"bypassPermissions\" would refuse every session"},
		{"model", "[mpm]\nmodel = \"--resume\"\n", `user.toml:2: mpm.model: "--resume" is no name`},
		{"rule", "[mpm]\nticket_tools = [\"mcp__tickets__*\", \" \"]\n", `user.toml:2: mpm.ticket_tools: " " at place 2 is no rule`},
		{"too many rules", "[mpm]\nallowed_tools = [" + strings.Repeat("\"Read\",", maxMPMRules+1) + "]\n", "user.toml:2: mpm.allowed_tools: has 1001 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := checked(t, &options{}, "", tt.user); err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("error = %v, want one with %q", err, tt.wrong)
			}
		})
	}
}

func TestToolsAndMPMReachTheServer(t *testing.T) {
	s, err := checked(t, &options{}, "", `
[tools]
families = ["mpm", "claude_code"]
sync = true
configure = true
bypass_ttl = "24h"
[mpm]
timeout = "10m"
model = "opus"
allowed_tools = ["Read"]
disallowed_tools = ["WebFetch"]
permission_mode = "bypassPermissions"
ticket_tools = ["mcp__tickets__*"]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := mpmserver.Options{
		Timeout: 10 * time.Minute, Model: "opus", AllowedTools: []string{"Read"}, DisallowedTools: []string{"WebFetch"},
		PermissionMode: modeBypass, TicketTools: []string{"mcp__tickets__*"},
	}
	if !reflect.DeepEqual(s.mpm, want) || s.tools.bypassTTL != 24*time.Hour {
		t.Errorf("got %+v, bypass %s", s.mpm, s.tools.bypassTTL)
	}
	o := s.serverOptions("serve", nil)
	if o.Name != "" || o.Without || !o.Sync || !o.Configure || len(o.Further) != 5 {
		t.Errorf("options %+v", o)
	}
}

func TestOneFamilyIsServed(t *testing.T) {
	user := "tools.configure = true\n"
	s, err := checked(t, &options{serves: mpmName, tools: toolFlags{families: []string{familyMPM}}}, "", user)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.serverOptions(mpmName, nil); o.Name != mpmName || !o.Without || o.Configure || len(o.Further) != 5 {
		t.Errorf("options %+v", o)
	}
	if got := s.approversHere(ownersDoor{}); got == nil || len(got) != 0 {
		t.Errorf("approvers %#v, want none, and not nil, which is everybody", got)
	}
	s, err = checked(t, &options{serves: "serve"}, "", user)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.serverOptions("serve", nil); o.Without || !o.Configure || len(o.Further) != 0 {
		t.Errorf("options %+v", o)
	}
	if got := s.approversHere(ownersDoor{}); !reflect.DeepEqual(got, []string{"client"}) {
		t.Errorf("approvers %q", got)
	}
}

func TestLocksBindFlagsOfTools(t *testing.T) {
	three := 3
	locked := "[lock]\nkeys = [\"tools.families\", \"limits.max_concurrent\"]\n"
	mpm := toolFlags{families: []string{familyMPM}}
	for _, tt := range []struct {
		name  string
		flags options
		org   string
		wrong string // empty: none
	}{
		{"max", options{tools: toolFlags{maxConcurrent: &three}}, locked, `--max-concurrent: key "limits.max_concurrent" is locked by`},
		{"families", options{serves: "serve", tools: mpm}, locked, `--tools: key "tools.families" is locked by`},
		{"the other name", options{serves: mpmName, tools: mpm}, locked, `mpm-session-server: key "tools.families" is locked by`},
		{"the other name, where it is allowed", options{serves: mpmName, tools: mpm}, "tools.families = [\"claude_code\", \"mpm\"]\n" + locked, ""},
		{"a flag, where it is allowed", options{serves: "serve", tools: mpm}, "tools.families = [\"claude_code\", \"mpm\"]\n" + locked, "--tools: key"},
		{"not locked", options{serves: "serve", tools: mpm}, "tools.families = [\"claude_code\"]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := checked(t, &tt.flags, tt.org, "")
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("error = %v, want one with %q", err, tt.wrong)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(s.tools.families, []string{familyMPM}) {
				t.Errorf("error %v, settings %+v", err, s)
			}
		})
	}
}

func TestReloadTellsOfTools(t *testing.T) {
	a, b := defaultConfig(), defaultConfig()
	b.Tools.Families, b.Tools.Sync, b.Tools.Configure, b.Tools.BypassTTL = []string{familyMPM}, true, true, "1h"
	b.MPM = mpmConfig{"/w", "1m", "m", []string{"a"}, []string{"b"}, "plan", []string{"c"}}
	want := []string{
		"mpm.allowed_tools", "mpm.disallowed_tools", "mpm.model", "mpm.permission_mode", "mpm.ticket_tools", "mpm.timeout", "mpm.working_directory",
		"tools.bypass_ttl", "tools.configure", "tools.families", "tools.sync",
	}
	if got := changedKeys(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("keys that need a restart: %q", got)
	}
}
