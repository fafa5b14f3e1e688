package main

import (
	"context"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// rowPlan is what a command would write, and what that would change.
type rowPlan struct {
	Rows    []dailyRow    `json:"rows"` // new ones
	Known   []dailyRow    `json:"known,omitempty"`
	Refused []refusedRule `json:"refused,omitempty"`
	Preview preview       `json:"preview"`
	Written []string      `json:"written"` // files
	Add     []string      `json:"add,omitempty"`

	place    dailyPlace
	settings *settings
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
	f, err := readDaily(place.data)
	if err != nil {
		return nil, err
	}
	plan := &rowPlan{place: place, settings: s, Rows: []dailyRow{}, Written: []string{}}
	for _, row := range rows {
		same := func(r dailyRow) bool { return r.same(row) }
		if slices.ContainsFunc(f.rows, same) || slices.ContainsFunc(plan.Rows, same) {
			plan.Known = append(plan.Known, row)
			continue
		}
		plan.Rows = append(plan.Rows, row)
	}
	if plan.file, err = f.with(plan.Rows...); err != nil {
		return nil, err
	}
	plan.Preview, err = plan.preview(ctx)
	return plan, err
}

// preview compares the policies in force with those the rows would make.
func (plan *rowPlan) preview(ctx context.Context) (preview, error) {
	if len(plan.Rows) == 0 {
		return preview{}, nil
	}
	now, err := inForce(ctx, plan.settings)
	if err != nil {
		return preview{}, err
	}
	then, remove, err := plan.place.candidate(ctx, plan.settings, plan.file)
	if err != nil {
		return preview{}, err
	}
	defer remove()
	return previewOf(ctx, plan.settings, comparison{now, then}, plan.Rows)
}

// comparison are two sets of policies: those in force, and those planned.
type comparison struct{ now, then *policy.Set }

// writeRows writes the files and says what is left to do.
func (c *command) writeRows(o *rowFlags, plan *rowPlan) error {
	tests, err := plan.place.readTests()
	if err != nil {
		return err
	}
	if len(plan.Rows) > 0 {
		if err := plan.place.write(plan.file, withTests(tests, plan.Rows)); err != nil {
			return err
		}
		plan.Written = []string{plan.place.data, plan.place.module, plan.place.tests}
	}
	module, data := plan.place.listed(plan.settings)
	if module && data {
		return c.told(o, "written to %s; a running server takes it over by itself", plan)
	}
	if o.writeConfig {
		if err := plan.place.list(plan.settings, c.env); err != nil {
			return err
		}
		plan.Written = append(plan.Written, plan.place.config)
		return c.told(o, "written to %s and listed in the configuration", plan)
	}
	plan.Add = plan.place.wanted(plan.settings)
	if o.json {
		return nil
	}
	c.say("written to %s, but it does not count yet: put this into %s, or repeat with --write-config", shortPath(plan.place.data), shortPath(plan.place.config))
	for _, line := range plan.Add {
		c.say("  %s", line)
	}
	return nil
}

func (c *command) told(o *rowFlags, format string, plan *rowPlan) error {
	if !o.json && len(plan.Written) > 0 {
		c.say(format, shortPath(plan.place.data))
	}
	return nil
}
