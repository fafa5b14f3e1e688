package main

import (
	"context"
	"fmt"
)

// listedRules is the output of policy rules.
type listedRules struct {
	File    string     `json:"file"`
	InForce bool       `json:"inForce"` // the configuration loads them
	Rules   []dailyRow `json:"rules"`
	Removed *dailyRow  `json:"removed,omitempty"`
}

// policyRules lists the rows that policy allow, deny and import wrote.
func (c *command) policyRules(_ context.Context, args []string) int {
	o := c.policyFlags("rules", "Lists the rules written by policy allow, deny and import, and removes them.")
	remove := o.flags.Int("remove", 0, "remove rule `number`")
	if code, done := o.parse(args); done {
		return code
	}
	if len(o.rest) > 0 {
		return c.failPolicy(o, fmt.Errorf("rules: takes no argument, got %q", o.rest[0]))
	}
	list, err := c.rules(o, *remove)
	if err != nil {
		return c.failPolicy(o, err)
	}
	if o.json {
		if err := c.printJSON(list); err != nil {
			return c.fail(policyWrong, err)
		}
		return policyYes
	}
	c.showRules(list)
	return policyYes
}

func (c *command) rules(o *policyOptions, remove int) (*listedRules, error) {
	place, err := c.dailyPlace(o.config)
	if err != nil {
		return nil, err
	}
	f, err := readDaily(place.data)
	if err != nil {
		return nil, err
	}
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return nil, err
	}
	module, data := place.listed(s)
	list := &listedRules{File: place.data, InForce: module && data, Rules: f.rows}
	if remove == 0 {
		return list, nil
	}
	if err := c.notNested("policy rules --remove"); err != nil {
		return nil, err
	}
	if remove < 1 || remove > len(f.rows) {
		return nil, fmt.Errorf("rules: there is no rule %d, only %s", remove, counted(len(f.rows), "rule"))
	}
	gone := f.rows[remove-1]
	if f, err = f.without(remove); err != nil {
		return nil, err
	}
	tests, err := place.readTests()
	if err != nil {
		return nil, err
	}
	list.Rules, list.Removed = f.rows, &gone
	return list, place.write(f, withoutTest(tests, gone))
}

func (c *command) showRules(list *listedRules) {
	if list.Removed != nil {
		c.say("removed: %s %s", list.Removed.Effect, list.Removed)
	}
	for i, row := range list.Rules {
		text := fmt.Sprintf("%3d  %-5s %s", i+1, row.Effect, row)
		if row.Folder != "" {
			text += "  in " + row.Folder
		}
		if row.Reason != "" {
			text += "  (" + row.Reason + ")"
		}
		if row.Added != "" {
			text += "  " + row.Added
		}
		c.say("%s", text)
	}
	switch {
	case len(list.Rules) == 0:
		c.say("no rules; gatehouse policy allow 'npm test*' adds one")
	case !list.InForce:
		c.say("none of them counts: the configuration does not list them; gatehouse policy allow and deny say how, and do it with --write-config")
	}
}
