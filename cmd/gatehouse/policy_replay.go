package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// The words of --fail-on.
const (
	failOnAny    = "any"
	failOnLooser = "looser"
	failOnNone   = "none"
)

// replayed is the report of policy replay.
type replayed struct {
	Decisions  int           `json:"decisions"` // judged again
	Differ     int           `json:"differ"`
	Looser     int           `json:"looser"` // of those that differ
	Stricter   int           `json:"stricter"`
	Covered    int           `json:"covered"`    // judged on a text that was covered or masked
	Unreadable int           `json:"unreadable"` // lines that are no decisions
	Unjudged   int           `json:"unjudged"`   // without a document, or with one of another version
	Why        string        `json:"why,omitempty"`
	Nothing    bool          `json:"nothing,omitempty"` // no decision was judged: that proves nothing
	Rows       []replayedRow `json:"rows"`
}

// replayedRow is one decision, before and now.
type replayedRow struct {
	Time    time.Time `json:"time"`
	ID      string    `json:"decision_id"`
	Entry   string    `json:"entry"`
	Tool    string    `json:"tool,omitempty"`
	Summary string    `json:"summary"`
	Old     string    `json:"old"` // effect:rule
	New     string    `json:"new"`
	Where   string    `json:"where,omitempty"`  // file:line of the new rule
	Change  string    `json:"change,omitempty"` // "looser", "stricter" or "rule"; empty: the same
	Covered bool      `json:"covered,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// policyReplay judges logged documents again.
func (c *command) policyReplay(ctx context.Context, args []string) int {
	o := c.policyFlags("replay [LOG…]", "Judges the decisions of a log again, by the policies in force or by others, and shows what differs.\nLOG is a file or folder of decision logs; default: the configured one. Exit code 1 says that a decision\nbecame looser, or that there was none to judge.")
	o.dataFlag()
	var paths []string
	o.flags.Func("policy", "`file or folder` of policies in the place of policy.paths; may be repeated", func(p string) error {
		paths = append(paths, p)
		return nil
	})
	all := o.flags.Bool("all", false, "show decisions that stay the same, too")
	failOn := o.flags.String("fail-on", failOnLooser, "exit with 1 when a decision differs: `which` is any, looser or none")
	if code, done := o.parse(args); done {
		return code
	}
	if !slices.Contains([]string{failOnAny, failOnLooser, failOnNone}, *failOn) {
		return c.failPolicy(o, fmt.Errorf("replay: --fail-on %q is unknown, want any, looser or none", *failOn))
	}
	set, files, err := c.replaySet(ctx, o, paths)
	if err != nil {
		return c.failPolicy(o, err)
	}
	r := &replayed{Rows: []replayedRow{}}
	for _, file := range files {
		unreadable, err := decisionlog.ReadFile(file, func(e decisionlog.Event) error { r.again(ctx, set, e, *all); return ctx.Err() })
		r.Unreadable += unreadable
		if err != nil {
			return c.failPolicy(o, err)
		}
	}
	r.Nothing = r.Decisions == 0
	if o.json {
		if err := c.printJSON(r); err != nil {
			return c.fail(policyWrong, err)
		}
	} else {
		c.showReplay(r, len(files))
	}
	return r.code(*failOn)
}

// replaySet loads the policies to judge by, and finds the logs.
func (c *command) replaySet(ctx context.Context, o *policyOptions, paths []string) (*policy.Set, []string, error) {
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return nil, nil, err
	}
	if s, err = s.withPolicies(paths, o.data); err != nil {
		return nil, nil, err
	}
	files, err := decisionLogs(o.rest, s)
	if err != nil {
		return nil, nil, err
	}
	set, err := inForce(ctx, s)
	return set, files, err
}

// withPolicies returns settings with other files in the place of the user's, where any are given.
func (s *settings) withPolicies(paths, data []string) (*settings, error) {
	other := *s
	for _, list := range []struct {
		given  []string
		target *[]string
	}{{paths, &other.policyPaths}, {data, &other.policyData}} {
		if len(list.given) == 0 {
			continue
		}
		*list.target = nil
		for _, p := range list.given {
			abs, err := filepath.Abs(p)
			if err != nil {
				return nil, err
			}
			*list.target = append(*list.target, abs)
		}
	}
	return &other, nil
}

// again judges one event.
func (r *replayed) again(ctx context.Context, set *policy.Set, e decisionlog.Event, all bool) {
	entry, call, ok := entryOf(e)
	var old loggedResult
	if !ok || json.Unmarshal(e.Result, &old) != nil || old.Effect == "" {
		r.unjudged("a line without input or result")
		return
	}
	now, err := set.Evaluate(ctx, entry, e.Input)
	if err != nil {
		r.unjudged(err.Error())
		return
	}
	row := replayedRow{
		Time: e.Timestamp, ID: e.DecisionID, Entry: string(entry), Tool: call.Tool.Name, Summary: call.summary(),
		Old: old.String(), New: now.Decision.Effect.String() + ":" + now.Decision.Rule, Where: writtenAt(now),
		Covered: e.Covered(), Reason: now.Decision.Reason,
	}
	row.Change = change(old, now.Decision.Effect.String(), now.Decision.Rule)
	r.Decisions++
	if row.Covered {
		r.Covered++
	}
	switch row.Change {
	case "looser":
		r.Looser++
	case "stricter":
		r.Stricter++
	}
	if row.Change != "" {
		r.Differ++
	}
	if row.Change != "" || all {
		r.Rows = append(r.Rows, row)
	}
}

func (r *replayed) unjudged(why string) {
	if r.Unjudged++; r.Why == "" {
		r.Why = why
	}
}

// strictness of an effect, as far as running a call goes.
var strictness = map[string]int{"allow": 1, "modify": 1, "ask": 2, "deny": 3, "halt": 3}

// change says how a decision differs; empty when it does not.
func change(old loggedResult, effect, rule string) string {
	switch was, is := strictness[old.Effect], strictness[effect]; {
	case is < was:
		return "looser"
	case is > was:
		return "stricter"
	case old.Effect != effect || old.Rule != rule:
		return "rule"
	}
	return ""
}

// code is the exit code. A log of which nothing could be judged proves nothing.
func (r *replayed) code(failOn string) int {
	switch {
	case failOn == failOnNone:
		return policyYes
	case r.Decisions == 0, failOn == failOnAny && r.Differ > 0, failOn == failOnLooser && r.Looser > 0:
		return policyNo
	}
	return policyYes
}

func (c *command) showReplay(r *replayed, files int) {
	if r.Nothing {
		c.say("%s  nothing to replay: no decision in %s", c.mark(false), counted(files, "file"))
	}
	c.say("%d of %s differ (%d looser, %d stricter), from %s", r.Differ, counted(r.Decisions, "decision"), r.Looser, r.Stricter, counted(files, "file"))
	for _, row := range r.Rows {
		c.say("%s", row.line())
	}
	if r.Covered > 0 {
		c.say("%s judged on text in which something was covered or masked, so they may differ from what was judged then", counted(r.Covered, "decision"))
	}
	if r.Unreadable > 0 {
		c.say("%s not read: not a decision", counted(r.Unreadable, "line"))
	}
	if r.Unjudged > 0 {
		c.say("%s not judged: %s", counted(r.Unjudged, "decision"), r.Why)
	}
}

func (row replayedRow) line() string {
	parts := []string{row.Time.Local().Format("2006-01-02 15:04:05"), " " + row.Summary, " " + row.Old + " -> " + row.New}
	if row.Where != "" {
		parts = append(parts, row.Where)
	}
	if row.Change == "looser" {
		parts = append(parts, "LOOSER")
	}
	if row.Covered {
		parts = append(parts, "(covered)")
	}
	return strings.Join(parts, " ")
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
