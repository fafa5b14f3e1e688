package main

import (
	"context"
	"fmt"
	"slices"
)

// writeRows writes the files of a plan, under a lock and upon what stands in them
// by then.
func (c *command) writeRows(ctx context.Context, o *rowFlags, plan *rowPlan) error {
	if len(plan.Rows) == 0 && (len(plan.Known) == 0 || !o.writeConfig && exists(plan.place.module)) {
		return nil
	}
	unlock, err := plan.place.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.again(ctx, o, plan); err != nil {
		return err
	}
	tests, err := plan.place.readTests()
	if err != nil {
		return err
	}
	tests = withTests(tests, plan.Rows)
	module, data := plan.place.listed(plan.settings)
	if module && !data { // the module must not count before its rows do
		if err := plan.write(plan.place.data, plan.file.text); err != nil {
			return err
		}
		if plan.list(c.env); plan.Trouble != "" {
			return nil
		}
		return plan.writeModule(tests)
	}
	if len(plan.Rows) > 0 || !exists(plan.place.module) {
		if err := plan.writeModule(tests); err != nil {
			return err
		}
		if err := plan.write(plan.place.data, plan.file.text); err != nil {
			return err
		}
	}
	if o.writeConfig && !(module && data) {
		plan.list(c.env)
	}
	return nil
}

// again takes in what others wrote since the plan was made.
func (c *command) again(ctx context.Context, o *rowFlags, plan *rowPlan) (err error) {
	if plan.settings, err = c.toolSettings(&o.options); err != nil {
		return err
	}
	f, err := readDaily(plan.place.data)
	if err != nil {
		return err
	}
	if f.text != plan.base {
		known := plan.Known
		if err := plan.choose(plan.Rows); err != nil {
			return err
		}
		plan.Known = append(known, plan.Known...)
		if len(plan.Rows) > 0 {
			set, remove, err := plan.candidate(ctx)
			if err != nil {
				return err
			}
			defer remove()
			if err := plan.tested(ctx, set); err != nil {
				return err
			}
		}
	}
	return plan.ready(o)
}

func (plan *rowPlan) writeModule(tests string) error {
	if !exists(plan.place.module) { // what its owner changes stays
		if err := plan.write(plan.place.module, dailyModule()); err != nil {
			return err
		}
	}
	return plan.write(plan.place.tests, tests)
}

func (plan *rowPlan) write(path, text string) error {
	if err := writePrivate(path, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	plan.Written = append(plan.Written, path)
	return nil
}

// list puts the rules into the configuration; where that cannot be done the plan
// says why, for the rows are written.
func (plan *rowPlan) list(env environment) {
	if err := plan.place.list(plan.settings, env); err != nil {
		plan.Trouble = err.Error()
		return
	}
	plan.Written = append(plan.Written, plan.place.config)
}

// tellRows says what was written and whether it counts, and returns the exit code.
func (c *command) tellRows(o *rowFlags, plan *rowPlan) int {
	module, data := plan.place.listed(plan.settings)
	listed := module && data || o.writeConfig && plan.Trouble == ""
	plan.OK = listed && len(plan.Rows)+len(plan.Known) > 0
	if !listed {
		plan.Add = plan.place.wanted(plan.settings)
	}
	text := plan.outcome(o, listed)
	if !plan.OK {
		plan.ExitCode = policyNo
	}
	if o.json {
		if err := c.printJSON(plan); err != nil {
			return c.fail(policyWrong, err)
		}
		return plan.ExitCode
	}
	c.say("%s", text)
	if !listed && len(plan.Rows)+len(plan.Known) > 0 {
		for _, line := range plan.Add {
			c.say("  %s", line)
		}
	}
	if plan.Next != (nextStep{}) {
		c.next("%s", plan.Next)
	}
	return plan.ExitCode
}

func (plan *rowPlan) outcome(o *rowFlags, listed bool) string {
	file, config := shortPath(plan.place.data), shortPath(plan.place.config)
	wrote := "written to " + file
	if len(plan.Rows) == 0 {
		wrote = "nothing new to write to " + file
	}
	switch {
	case len(plan.Rows)+len(plan.Known) == 0:
		plan.Next = nextStep{Command: "gatehouse policy allow 'npm test*'", Note: "writes a rule of your own"}
		return "no rule was taken over; nothing was written"
	case plan.Trouble != "":
		plan.Next = nextStep{Note: "put the lines above into " + config + ", then repeat the command"}
		return wrote + ", but the rules do not count yet: " + plan.Trouble
	case !listed:
		plan.Next = nextStep{Note: "put the lines above into " + config + ", or repeat with --write-config"}
		return wrote + ", but it does not count yet: the configuration does not list it"
	case len(plan.Rows) == 0 && len(plan.Written) == 0:
		return "nothing new to write: all of it is in force already"
	case slices.Contains(plan.Written, plan.place.config):
		return wrote + "; the configuration lists it now"
	}
	return wrote + "; a running server takes it over by itself"
}
