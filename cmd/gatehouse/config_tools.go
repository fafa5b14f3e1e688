package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
)

// The families of tools.
const (
	familyClaudeCode = "claude_code"
	familyMPM        = "mpm"
)

// families are all there are.
var families = []string{familyClaudeCode, familyMPM}

// permissionModes are those a session can have.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "delegate", modeBypass}

// modeBypass lifts questions while claude_code_configure has enabled it.
const modeBypass = "bypassPermissions"

// toolsConfig says which tools are offered, and how they answer.
type toolsConfig struct {
	Families  []string `toml:"families"`
	Sync      bool     `toml:"sync"`      // claude_code and claude_code_reply answer when the turn has ended
	Configure bool     `toml:"configure"` // claude_code_configure is there
	BypassTTL string   `toml:"bypass_ttl"`
}

// mpmConfig is what sessions of the MPM tools begin with.
type mpmConfig struct {
	WorkingDirectory string   `toml:"working_directory"`
	Timeout          string   `toml:"timeout"` // empty: none but limits.turn_timeout
	Model            string   `toml:"model"`
	AllowedTools     []string `toml:"allowed_tools"`
	DisallowedTools  []string `toml:"disallowed_tools"`
	PermissionMode   string   `toml:"permission_mode"`
	TicketTools      []string `toml:"ticket_tools"` // taken away with no_tickets
}

// toolsSettings is [tools] after it was checked.
type toolsSettings struct {
	families  []string // at least one
	sync      bool
	configure bool
	bypassTTL time.Duration
}

// Bounds of both tables.
const (
	maxBypassTTL = 24 * time.Hour
	maxMPMRules  = 1000
	maxModelName = 200 // bytes
)

func defaultTools() toolsConfig {
	return toolsConfig{Families: []string{familyClaudeCode}, BypassTTL: "15m"}
}

func (t toolsSettings) serves(family string) bool { return slices.Contains(t.families, family) }

// configurable reports that claude_code_configure is offered.
func (t toolsSettings) configurable() bool { return t.configure && t.serves(familyClaudeCode) }

func (c *checker) tools() toolsSettings {
	d := c.l.Tools
	if len(d.Families) == 0 {
		c.fail("tools.families", `names none; a server without tools is of no use, want "claude_code", "mpm" or both`)
	}
	for i, f := range d.Families {
		c.known("tools.families", f, families)
		if slices.Contains(d.Families[:i], f) {
			c.fail("tools.families", "%q stands there twice; remove one", f)
		}
	}
	return toolsSettings{
		families: slices.Clone(d.Families), sync: d.Sync, configure: d.Configure,
		bypassTTL: c.durationUpTo("tools.bypass_ttl", d.BypassTTL, maxBypassTTL),
	}
}

// mpm is [mpm], with the folder that a flag or a variable gives where it has none.
func (c *checker) mpm(t toolsSettings) mpmserver.Options {
	d := c.l.MPM
	o := mpmserver.Options{
		WorkingDirectory: c.l.mpmFolder,
		Model:            c.word("mpm.model", d.Model, maxModelName),
		AllowedTools:     c.rules("mpm.allowed_tools", d.AllowedTools),
		DisallowedTools:  c.rules("mpm.disallowed_tools", d.DisallowedTools),
		TicketTools:      c.rules("mpm.ticket_tools", d.TicketTools),
		PermissionMode:   d.PermissionMode,
	}
	if d.WorkingDirectory != "" {
		if found := c.folders("mpm.working_directory", []string{d.WorkingDirectory}); len(found) > 0 {
			o.WorkingDirectory = found[0]
		}
	}
	if d.Timeout != "" {
		o.Timeout = c.duration("mpm.timeout", d.Timeout)
	}
	if d.PermissionMode != "" {
		c.known("mpm.permission_mode", d.PermissionMode, permissionModes)
	}
	if d.PermissionMode == modeBypass && t.serves(familyMPM) && !t.configurable() {
		c.fail("mpm.permission_mode", "%q would refuse every session: claude_code_configure, which enables it, is not offered; set [tools] configure = true and have claude_code among tools.families", modeBypass)
	}
	return o
}

// known is oneOf that names the nearest word.
func (c *checker) known(key, value string, all []string) {
	if !slices.Contains(all, value) {
		c.fail(key, "%q is unknown, want one of %s; the nearest is %q", value, strings.Join(all, ", "), nearest(value, all))
	}
}

// nearest returns the word that takes the fewest edits from the one given.
func nearest(word string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return spelling.Distance(word, a) - spelling.Distance(word, b)
	})
}

// durationUpTo is duration with a bound of its own.
func (c *checker) durationUpTo(key, value string, high time.Duration) time.Duration {
	d := c.duration(key, value)
	if d > high {
		c.fail(key, "%s is out of bounds, want %s to %s", value, minDuration, high)
	}
	return d
}

// word is a text that becomes one argument of the CLI.
func (c *checker) word(key, value string, most int) string {
	switch {
	case len(value) > most:
		c.fail(key, "has %d bytes, at most %d are taken", len(value), most)
	case strings.ContainsAny(value, "\x00\r\n"), strings.HasPrefix(value, "-"), value != "" && strings.TrimSpace(value) == "":
		c.fail(key, "%q is no name", value)
	}
	return value
}

// rules checks the form of rules of tools; what they name is the CLI's to know.
func (c *checker) rules(key string, list []string) []string {
	if len(list) > maxMPMRules {
		c.fail(key, "has %d entries, at most %d are taken; name several tools by one pattern, such as mcp__server__*", len(list), maxMPMRules)
	}
	for i, rule := range list {
		if strings.TrimSpace(rule) == "" || strings.ContainsAny(rule, "\x00\r\n") {
			c.fail(key, `%q at place %d is no rule; write for example "Read" or "Bash(go test *)"`, rule, i+1)
		}
	}
	return slices.Clone(list)
}

// toolWarnings tells of what is configured and has no effect.
func (s *settings) toolWarnings() (list []string) {
	if !s.tools.serves(familyClaudeCode) && (s.tools.sync || s.tools.configure) {
		list = append(list, fmt.Sprintf("[tools] sync and configure are about the tools of %s, which are not offered here", familyClaudeCode))
	}
	folder := s.mpm.WorkingDirectory
	if s.tools.serves(familyMPM) && folder != "" && !slices.ContainsFunc(s.roots, func(root string) bool { return inside(folder, root) }) {
		list = append(list, fmt.Sprintf("sessions of the mpm tools work in %s where their caller names no folder, which lies in none of the roots, so the built-in policies refuse them; list it under [workspace] roots", folder))
	}
	return list
}
