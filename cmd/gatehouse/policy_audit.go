package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// Bounds of what from-audit gathers and proposes.
const (
	maxAudited   = 100_000 // questions
	maxProposals = 20
	wideFrom     = 3 // variants of a command that make a proposal with a star
)

// fromAudit is the report of policy from-audit.
type fromAudit struct {
	Asks       int        `json:"asks"`    // questions, and denials for want of any rule
	Allowed    int        `json:"allowed"` // of them, answered with allow
	Denied     int        `json:"denied"`  // answered with deny
	Unknown    int        `json:"unknown"` // nobody answered, or the log does not tell
	Dangers    int        `json:"dangers"` // asked by a rule of its own: never proposed
	Unfit      int        `json:"unfit"`   // allowed, but no narrow rule covers them
	Unreadable int        `json:"unreadable"`
	Proposals  []proposal `json:"proposals"`
}

// proposal is a row that would have avoided questions.
type proposal struct {
	Command string   `json:"command"` // ready to run
	Rule    string   `json:"rule"`
	Avoids  int      `json:"avoids"`            // questions
	Unknown int      `json:"unknown,omitempty"` // of them, without a known answer
	Folder  string   `json:"folder,omitempty"`  // where all of them were
	Also    string   `json:"also,omitempty"`    // what else it would let through
	Calls   []string `json:"calls,omitempty"`   // at most a few
	row     dailyRow // as parsed
}

// policyFromAudit proposes rules that would have avoided questions.
func (c *command) policyFromAudit(ctx context.Context, args []string) int {
	o := c.policyFlags("from-audit [LOG…]", "Proposes the narrowest rules that would have avoided the questions of a decision log. Only calls that\nasked because no rule spoke about them count, and only those that were not answered with deny.")
	since := o.flags.Duration("since", 24*time.Hour, "look back this `long`; 0 = all there is")
	if code, done := o.parse(args); done {
		return code
	}
	if *since < 0 {
		return c.failPolicy(o, fmt.Errorf("from-audit: --since %s: want a time to look back, such as 24h, or 0 for all there is", *since))
	}
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return c.failPolicy(o, err)
	}
	g := &gathered{questions: map[string]*auditedAsk{}, answers: map[string]string{}}
	if *since > 0 {
		g.from = time.Now().Add(-*since)
	}
	if err := g.read(ctx, o.rest, s); err != nil {
		return c.failPolicy(o, err)
	}
	a := g.audit()
	if o.json {
		if err := c.printJSON(a); err != nil {
			return c.fail(policyWrong, err)
		}
		return policyYes
	}
	c.showAudit(a, *since)
	return policyYes
}

// auditedAsk is one call that asked, or was denied for want of any rule.
type auditedAsk struct {
	id     string
	call   loggedCall
	danger bool
	parts  []string // commands of Bash, as rules see them; nil: not covered by any rule
}

// gathered is what the logs say.
type gathered struct {
	from       time.Time
	questions  map[string]*auditedAsk // by session and call
	answers    map[string]string      // by decision id: allow or deny
	unreadable int
}

func (g *gathered) read(ctx context.Context, named []string, s *settings) error {
	files, err := decisionLogs(named, s)
	if err != nil {
		return err
	}
	for _, file := range files {
		unreadable, err := decisionlog.ReadFile(file, func(e decisionlog.Event) error { g.add(e); return ctx.Err() })
		g.unreadable += unreadable
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *gathered) add(e decisionlog.Event) {
	entry, call, ok := entryOf(e)
	var result loggedResult
	if !ok || json.Unmarshal(e.Result, &result) != nil {
		return
	}
	if entry == policy.EntryAdmission && call.Action == "answer" && result.Effect == "allow" {
		g.answers[call.Approval.DecisionID] = call.Approval.Effect
		return
	}
	asked := result.Effect == "ask" || result.Effect == "deny" && result.Rule == defaultRule
	if entry != policy.EntryPermission || !asked || e.Timestamp.Before(g.from) || call.Door == string(permission.DoorAnswer) || len(g.questions) >= maxAudited {
		return
	}
	key := e.DecisionID
	if call.Tool.UseID != "" { // the hook and the question are one call
		key = call.Session.ID + " " + call.Tool.UseID
	}
	g.questions[key] = &auditedAsk{id: e.DecisionID, call: call, danger: result.Rule != defaultRule, parts: partsOf(e, call.Tool.Name)}
}

// defaultRule stands for no rule at all: the call asked only because nothing allowed it.
const defaultRule = "engine.default"

// partsOf are the commands of a call; nil where a rule could not cover them all.
func partsOf(e decisionlog.Event, tool string) []string {
	if tool != "Bash" || e.Covered() {
		return nil
	}
	var doc struct {
		Bash struct {
			OK       bool            `json:"ok"`
			Features map[string]bool `json:"features"`
			Commands []struct {
				Text      string           `json:"text"`
				Static    bool             `json:"static"`
				Wrapper   bool             `json:"wrapper"`
				Env       []any            `json:"env"`
				Redirects []map[string]any `json:"redirects"`
				Name      struct{ Value, Basename string }
			} `json:"commands"`
		} `json:"bash"`
	}
	if json.Unmarshal(e.Input, &doc) != nil || !doc.Bash.OK {
		return nil
	}
	for _, name := range []string{"arith", "assign", "background", "chdir", "cmdsubst", "control_flow", "function", "param", "procsubst"} {
		if doc.Bash.Features[name] {
			return nil
		}
	}
	var parts []string
	for _, k := range doc.Bash.Commands {
		opens := slices.ContainsFunc(k.Redirects, func(r map[string]any) bool { return r["path"] != nil || r["static"] != true })
		if !k.Static || len(k.Env) > 0 || opens || k.Name.Value != k.Name.Basename || strings.ContainsAny(k.Text, "*") {
			return nil
		}
		if !k.Wrapper {
			parts = append(parts, k.Text)
		}
	}
	return parts
}

// audit groups the questions into proposals, the narrowest first.
func (g *gathered) audit() *fromAudit {
	a := &fromAudit{Asks: len(g.questions), Unreadable: g.unreadable, Proposals: []proposal{}}
	var open []*auditedAsk
	for _, q := range g.questions {
		switch g.answers[q.id] {
		case "allow":
			a.Allowed++
		case "deny":
			a.Denied++
			continue
		default:
			a.Unknown++
		}
		if q.danger {
			a.Dangers++
			continue
		}
		open = append(open, q)
	}
	a.Proposals, a.Unfit = g.propose(open)
	return a
}

func (c *command) showAudit(a *fromAudit, since time.Duration) {
	when := "in all logs"
	if since > 0 {
		when = "in the last " + since.String()
	}
	if a.Asks == 0 {
		c.say("no questions %s", when)
	} else {
		c.say("%s %s: %d answered allow, %d answered deny, %d without a known answer", counted(a.Asks, "question"), when, a.Allowed, a.Denied, a.Unknown)
	}
	if a.Dangers > 0 {
		c.say("%d asked by a rule of its own: those are meant to be asked", a.Dangers)
	}
	if a.Unfit > 0 {
		c.say("%d cannot be covered by a narrow rule", a.Unfit)
	}
	if a.Unreadable > 0 {
		c.say("%s not read: not a decision", counted(a.Unreadable, "line"))
	}
	for _, p := range a.Proposals {
		c.say("%s", p.Command)
		text := "  avoids " + counted(p.Avoids, "question")
		if p.Unknown > 0 {
			text += fmt.Sprintf(" (%d without a known answer: look at them first)", p.Unknown)
		}
		if p.Also != "" {
			text += "; would also let through " + p.Also
		}
		c.say("%s", text)
		for _, call := range p.Calls {
			c.say("    %s", call)
		}
		if p.Folder != "" {
			c.say("    all in %s: with --here in that folder, it counts there only", p.Folder)
		}
	}
	if len(a.Proposals) == 0 {
		c.say("nothing to propose")
	}
}
