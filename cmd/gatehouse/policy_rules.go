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
func (c *command) policyRules(ctx context.Context, args []string) int {
	o := c.policyFlags("rules", "Lists the rules written by policy allow, deny and import, and removes them.")
	remove := o.flags.Int("remove", 0, "remove rule `number`")
	if code, done := o.parse(args); done {
		return code
	}
	if len(o.rest) > 0 {
		return c.failPolicy(o, fmt.Errorf("rules: takes no argument, got %q", o.rest[0]))
	}
	list, err := c.rules(ctx, o, *remove)
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

func (c *command) rules(ctx context.Context, o *policyOptions, remove int) (*listedRules, error) {
	place, err := c.dailyPlace(o.config)
	if err != nil {
		return nil, err
	}
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return nil, err
	}
	module, data := place.listed(s)
	list := &listedRules{File: place.data, InForce: module && data && exists(place.module)}
	if remove != 0 {
		return list, c.removeRule(ctx, place, list, remove)
	}
	f, err := readDaily(place.data)
	if err == nil {
		list.Rules = f.rows
	}
	return list, err
}

// removeRule takes row number n out, and its test.
func (c *command) removeRule(ctx context.Context, place dailyPlace, list *listedRules, n int) error {
	if err := c.notNested("policy rules --remove"); err != nil {
		return err
	}
	unlock, err := place.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := readDaily(place.data)
	if err != nil {
		return err
	}
	if n < 1 || n > len(f.rows) {
		return fmt.Errorf("rules: there is no rule %d, only %s", n, counted(len(f.rows), "rule"))
	}
	gone := f.rows[n-1]
	if f, err = f.without(n); err != nil {
		return err
	}
	list.Rules, list.Removed = f.rows, &gone
	if err := writePrivate(place.data, f.text); err != nil {
		return fmt.Errorf("write %s: %w", place.data, err)
	}
	if !exists(place.tests) {
		return nil
	}
	tests, err := place.readTests()
	if err == nil {
		err = writePrivate(place.tests, withoutTest(tests, gone))
	}
	return err
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
