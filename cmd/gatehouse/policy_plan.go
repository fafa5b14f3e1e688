package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// rowPlan is what a command would write, and what that would change.
type rowPlan struct {
	OK       bool          `json:"ok"` // the rows are in force
	ExitCode int           `json:"exitCode"`
	Rows     []dailyRow    `json:"rows"` // new ones
	Known    []dailyRow    `json:"known,omitempty"`
	Refused  []refusedRule `json:"refused,omitempty"`
	Preview  preview       `json:"preview"`
	Written  []string      `json:"written"` // files
	Add      []string      `json:"add,omitempty"`
	Trouble  string        `json:"trouble,omitempty"` // why the configuration was not changed
	Next     nextStep      `json:"next"`

	place    dailyPlace
	settings *settings
	base     string // text of rules.toml that file adds to
	file     *dailyFile
}

func (c *command) planRows(ctx context.Context, o *rowFlags, rows []dailyRow) (*rowPlan, error) {
	place, err := c.dailyPlace(o.config)
	if err != nil {
		return nil, err
	}
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return nil, err
	}
	plan := &rowPlan{place: place, settings: s, Written: []string{}}
	if err := plan.choose(rows); err != nil {
		return nil, err
	}
	return plan, plan.look(ctx, o)
}

// choose reads rules.toml and adds the rows that are not there.
func (plan *rowPlan) choose(rows []dailyRow) error {
	f, err := readDaily(plan.place.data)
	if err != nil {
		return err
	}
	plan.base, plan.Rows, plan.Known = f.text, []dailyRow{}, nil
	for _, row := range rows {
		same := func(r dailyRow) bool { return r.same(row) }
		switch {
		case slices.ContainsFunc(plan.Rows, same):
		case slices.ContainsFunc(f.rows, same):
			plan.Known = append(plan.Known, row)
		default:
			plan.Rows = append(plan.Rows, row)
		}
	}
	plan.file, err = f.with(plan.Rows...)
	return err
}

// look compares the policies in force with those the rows would make, and runs
// the tests: a server would refuse what fails them, and keep what it has.
func (plan *rowPlan) look(ctx context.Context, o *rowFlags) error {
	if len(plan.Rows) == 0 {
		return nil
	}
	now, err := inForce(ctx, plan.settings)
	if err != nil {
		return err
	}
	then, remove, err := plan.candidate(ctx)
	if err != nil {
		return err
	}
	defer remove()
	sets := comparison{now, then}
	weak, err := sets.weak(ctx, plan.settings, plan.Rows)
	if err != nil {
		return err
	}
	if len(weak) > 0 {
		return plan.leaveOut(ctx, o, weak)
	}
	if plan.Preview, err = previewOf(ctx, plan.settings, sets, plan.Rows); err != nil {
		return err
	}
	return plan.tested(ctx, then)
}

// candidate are the policies with the rows and their tests.
func (plan *rowPlan) candidate(ctx context.Context) (*policy.Set, func(), error) {
	tests, err := plan.place.readTests()
	if err != nil {
		return nil, nil, err
	}
	return plan.place.candidate(ctx, plan.settings, plan.file, withTests(tests, plan.Rows))
}

func (plan *rowPlan) tested(ctx context.Context, set *policy.Set) error {
	if err := runTests(ctx, set, plan.settings.profile); err != nil {
		return fmt.Errorf("a server would not take this over, because a test fails with it; nothing was written: %w", err)
	}
	return nil
}

// leaveOut refuses rows that do not do what they say: of an import they are left
// out, else nothing is planned.
func (plan *rowPlan) leaveOut(ctx context.Context, o *rowFlags, weak map[int]string) error {
	var kept []dailyRow
	for i, row := range plan.Rows {
		why, bad := weak[i]
		switch {
		case !bad:
			kept = append(kept, row)
		case o.effect != "import":
			return fmt.Errorf("%s %s: %s; nothing was written", row.Effect, row, why)
		default:
			plan.Refused = append(plan.Refused, refusedRule{Rule: row.Effect + " " + row.String(), Why: why})
		}
	}
	known := plan.Known
	if err := plan.choose(kept); err != nil {
		return err
	}
	plan.Known = append(known, plan.Known...)
	return plan.look(ctx, o)
}

// comparison are two sets of policies: those in force, and those planned.
type comparison struct{ now, then *policy.Set }

// weak are the rows, by number, that do not do what they say to their own first
// example, each with the reason.
func (sets comparison) weak(ctx context.Context, s *settings, rows []dailyRow) (map[int]string, error) {
	weak := map[int]string{}
	for i, row := range rows {
		doc, call, err := sets.example(s, row, row.exampleInputs(row.cwd(s))[0])
		if err != nil {
			return nil, err
		}
		e, err := sets.then.Evaluate(ctx, policy.EntryPermission, doc)
		if err != nil {
			return nil, err
		}
		effect := e.Decision.Effect.String()
		switch stops := effect == "deny" || effect == "halt"; {
		case row.Effect == "deny" && !stops, row.Effect == "ask" && !stops && effect != "ask":
			weak[i] = fmt.Sprintf("it does not hold: its own example, %s, stays %s", call, decided(e))
		case row.Effect == "allow" && !said(e, "daily.allow"):
			weak[i] = fmt.Sprintf("it is never met: its own example, %s, is not covered by it", call)
		}
	}
	return weak, nil
}

func said(e policy.Evaluation, rule string) bool {
	for _, l := range e.Layers {
		for _, v := range l.Verdicts {
			if v.Rule == rule {
				return true
			}
		}
	}
	return false
}

// changesNothing reports that every first example and every logged call is decided
// as before.
func (plan *rowPlan) changesNothing() bool {
	if len(plan.Rows) == 0 || len(plan.Rows) > maxExamples || len(plan.Preview.Changes) > 0 {
		return false
	}
	return !slices.ContainsFunc(plan.Preview.Examples, func(p previewed) bool { return p.first && !strings.HasPrefix(p.Old, p.effect()) })
}

// effect is what is decided then.
func (p previewed) effect() string {
	effect, _, _ := strings.Cut(p.New, ":")
	return effect + ":"
}

// errStops is a configuration in which writing daily.rego would stop every call.
var errStops = errors.New("its folder is in policy.paths, so a running server would load daily.rego at once, and without rules.toml in policy.data that denies every call")

// ready refuses to write what would stop a running server.
func (plan *rowPlan) ready(o *rowFlags) error {
	module, data := plan.place.listed(plan.settings)
	if !module || data || o.writeConfig || len(plan.Rows)+len(plan.Known) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w; repeat with --write-config, or put %s into %s first; nothing was written",
		shortPath(plan.place.module), errStops, strings.Join(plan.place.wanted(plan.settings)[1:], " and "), shortPath(plan.place.config))
}
