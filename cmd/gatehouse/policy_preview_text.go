package main

import "fmt"

func (c *command) showPlan(plan *rowPlan) {
	for _, row := range plan.Known {
		c.say("already there: %s %s", row.Effect, row)
	}
	for _, row := range plan.Rows {
		where := ""
		if row.Folder != "" {
			where = " in " + shortPath(row.Folder)
		}
		c.say("%s %s%s", row.Effect, row, where)
	}
	for _, r := range plan.Refused {
		c.say("left out: %s: %s", r.Rule, r.Why)
	}
	p := plan.Preview
	if len(p.Examples) > 0 {
		c.say("for example:")
	}
	for _, one := range p.Examples {
		c.say("  %s", one.line())
	}
	if p.Logged > 0 {
		c.say("of %s in the decision log:", counted(p.Logged, "such call"))
		c.showSome("would be decided otherwise", p.Changes)
		c.showSome("named by the rule, but decided by another", p.Others)
	}
}

func (c *command) showSome(title string, all []previewed) {
	n := 0
	for _, one := range all {
		n += one.N
	}
	c.say("  %s: %d", title, n)
	for i, one := range all {
		if i == maxExamples {
			c.say("    and %s more", counted(len(all)-i, "kind"))
			break
		}
		c.say("    %s", one.line())
	}
}

func (one previewed) line() string {
	text := one.Call + "  " + one.Old + " -> " + one.New
	if one.Old == one.New {
		text = one.Call + "  stays " + one.New
	}
	if one.N > 1 {
		text += fmt.Sprintf("  ×%d", one.N)
	}
	return text
}
