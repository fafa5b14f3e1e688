package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// interactive are the tools whose question is their purpose.
var interactive = []string{"AskUserQuestion", "ExitPlanMode", formTool}

// liftable says whether the bypass may answer a question. Not one that somebody in
// particular has to answer, nor of the organisation, a plugin or the engine, nor one
// about another input than the model's.
func liftable(r permission.Request, d permission.Decision) bool {
	t := d.Ask
	switch {
	case d.Effect != permission.Ask, r.Door != permission.DoorAsk, r.Session.Mode != modeBypass, slices.Contains(interactive, r.Tool):
		return false
	case t.Approver != "", t.Approvers != nil, t.Quorum > 1, len(d.UpdatedInput) > 0:
		return false
	case d.Plugin() != "", slices.ContainsFunc(d.Plugins, func(a permission.Annotation) bool { return a.Verdict >= permission.Ask }):
		return false
	}
	return !slices.ContainsFunc(askingRules(d), stays)
}

// stays is for a rule, as "layer:rule" or "ask:rule", whose question is not lifted.
func stays(asking string) bool {
	layer, rule, _ := strings.Cut(asking, ":")
	own := strings.HasPrefix(rule, "engine.") && rule != "engine.default"
	return own || layer == "org" || strings.HasPrefix(rule, "plugin.")
}

// bypasses says whether the session is in the mode now: an answer may have ended that
// while the call was judged.
func (s *Session) bypasses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode == modeBypass
}

// lift is the allow that takes the place of a question, false where the question
// stays. What the asking decision brings along stays: obligations, labels, rules.
func (s *Session) lift(r permission.Request, d permission.Decision) (permission.Decision, bool) {
	if !liftable(r, d) || !s.bypasses() {
		return d, false
	}
	revision := s.engine.chain.Revision()
	b := s.engine.bypass.now(revision)
	if !b.Enabled || d.InForce() != revision {
		if s.lifted.Swap(false) {
			s.notice(byBypass, "the bypass has ended; this session asks again", nil)
		}
		return d, false
	}
	s.lifted.Store(true)
	if asks := "ask:" + d.Rule; !slices.Contains(d.Rules, asks) {
		d.Rules = append(slices.Clone(d.Rules), asks)
	}
	d.Reason = fmt.Sprintf("permissionMode is bypassPermissions, enabled until %s; rule %s asks: %s", stamp(b.Until), d.Rule, cmp.Or(d.Reason, "no reason was given"))
	d.Rules = append(slices.Clone(d.Rules), "allow:"+ruleBypass)
	d.Effect, d.Rule, d.By, d.Layer = permission.Allow, ruleBypass, byBypass, ""
	d.AgentMessage, d.Ask, d.Asking = "", permission.AskTerms{}, nil
	return d, true
}
