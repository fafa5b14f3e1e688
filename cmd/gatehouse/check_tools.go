package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// checkedTools is what serve would offer, and how it would work.
type checkedTools struct {
	Families      []string       `json:"families"`
	MaxConcurrent int            `json:"maxConcurrent"`
	Sync          bool           `json:"sync"`
	Configure     bool           `json:"configure"`           // claude_code_configure is offered
	BypassTTL     string         `json:"bypassTtl,omitempty"` // with configure
	BypassGranted bool           `json:"bypassGranted"`       // clients may enable it
	MPMFolder     string         `json:"mpmWorkingDirectory,omitempty"`
	Variables     []heldVariable `json:"variables,omitempty"` // those that are set and hold
}

func (s *settings) checkedTools(env environment) *checkedTools {
	t := &checkedTools{
		Families: s.tools.families, MaxConcurrent: s.maxConcurrent, Sync: s.tools.sync && s.tools.serves(familyClaudeCode),
		Configure: s.tools.configurable(), Variables: s.holding(env),
	}
	if t.Configure {
		t.BypassTTL = s.tools.bypassTTL.String()
		t.BypassGranted = slices.Contains(s.grants, modeBypass) && slices.Contains([]string{"dev", "none"}, s.profile)
	}
	if s.tools.serves(familyMPM) {
		t.MPMFolder = cmp.Or(s.mpm.WorkingDirectory, s.roots[0])
	}
	return t
}

// holding are the variables of clients that are set and hold.
func (s *settings) holding(env environment) []heldVariable {
	all := slices.Clone(s.variables.inForce)
	if env.get(allowDiskResume) == "1" {
		all = append(all, heldVariable{allowDiskResume, "1", "sessions that are no longer kept can be resumed from disk"})
	}
	if env.get(resumeSecret) != "" {
		all = append(all, heldVariable{Name: resumeSecret, Effect: "seals resume tokens"})
	}
	if level, bad := env.logLevel(); env.get(logLevelVariable) != "" && bad == "" {
		all = append(all, heldVariable{logLevelVariable, env.get(logLevelVariable), fmt.Sprintf("serve logs from %s on", levelName(level))})
	}
	return all
}

// variableWarnings tells of variables that will not do what they seem to say.
func (s *settings) variableWarnings(env environment) []string {
	return slices.Concat(environmentWarnings(env), unreadVariables(env), unfilled(env), s.variables.overruled)
}

func (k *check) toolsText() {
	t := k.report.Tools
	k.row("tools", strings.Join(t.Families, ", ")+"; "+plural(t.MaxConcurrent, "turn")+" at once")
	if t.Sync {
		k.row("sync", "claude_code and claude_code_reply answer when the turn has ended")
	}
	if t.Configure {
		k.row("configure", t.bypassText())
	}
	if t.MPMFolder != "" {
		k.row("mpm", "works in "+t.MPMFolder+" where its caller names no folder")
	}
	for _, v := range t.Variables {
		k.row("variable", strings.TrimSuffix(v.Name+"="+v.Value, "=")+": "+v.Effect)
	}
}

// bypassText says what claude_code_configure can do here.
func (t *checkedTools) bypassText() string {
	if !t.BypassGranted {
		return "claude_code_configure is offered; enable_bypass is denied here (it takes profile dev or none, and bypassPermissions in [grants] parameters)"
	}
	return "clients may enable bypassPermissions for " + t.BypassTTL + " at a time; what policies only ask about then runs in their sessions of that mode"
}

// maxWord is the flag's value as text, empty where it was not given.
func (t toolFlags) maxWord() string {
	if t.maxConcurrent == nil {
		return ""
	}
	return strconv.Itoa(*t.maxConcurrent)
}
