package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
)

// followEvery is the pause between two looks of audit show --follow.
const followEvery = 250 * time.Millisecond

// maxLimit bounds --limit: so many records are kept in memory.
const maxLimit = 100_000

// auditView prints records as they are read.
type auditView struct {
	*command
	filter  auditFilter
	print   func(audit.Entry)
	newest  []audit.Entry // with a limit, before the end was reached
	matched int
	code    int
	warned  map[string]bool // servers whose log has lines that are no records
}

// auditShow shows records to people.
func (c *command) auditShow(ctx context.Context, args []string) int {
	o, v := auditFlagSet("show"), &auditView{command: c, warned: map[string]bool{}}
	v.filter.declare(o, time.Now())
	o.flags.BoolVar(&o.json, "json", false, "print the records as they stand in the log, one JSON object a line")
	follow := o.flags.Bool("follow", false, "go on with what is recorded from now on, until interrupted")
	root, err := v.begin(o, args)
	if err != nil {
		return c.failAudit(err)
	}
	v.print = func(e audit.Entry) { fmt.Fprintln(c.stdout, auditLine(&e.Record)) }
	if o.json {
		v.print = func(e audit.Entry) { c.stdout.Write(append(plainLine(bytes.Clone(e.Raw)), '\n')) }
	}
	return v.all(ctx, root, *follow)
}

// auditExport prints records for other systems.
func (c *command) auditExport(ctx context.Context, args []string) int {
	o, v := auditFlagSet("export"), &auditView{command: c, warned: map[string]bool{}}
	v.filter.declare(o, time.Now())
	o.flags.BoolVar(&o.json, "json", true, "print one flat JSON object a line; there is no other form")
	follow := o.flags.Bool("follow", false, "go on with what is recorded from now on, until interrupted")
	root, err := v.begin(o, args)
	if err == nil && !o.json {
		err = errors.New("audit export: --json=false asks for another form, and there is none")
	}
	if err != nil {
		return c.failAudit(err)
	}
	v.print = func(e audit.Entry) { c.stdout.Write(exported(&e.Record)) }
	return v.all(ctx, root, *follow)
}

func (v *auditView) begin(o *auditFlags, args []string) (root string, err error) {
	if err := o.parse(v.command, args); err != nil {
		return "", err
	}
	if l := v.filter.limit; l < 0 || l > maxLimit {
		return "", fmt.Errorf("%s: --limit %d is out of bounds, want 0 to %d", o.name(), l, maxLimit)
	}
	return o.root(v.command)
}

// all prints what is there, and with follow what comes.
func (v *auditView) all(ctx context.Context, root string, follow bool) int {
	stream := audit.NewStream(root, v.filter.Since)
	defer stream.Close()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		err := stream.Each(func(e audit.Entry) error { return v.entry(ctx, e) })
		switch {
		case ctx.Err() != nil:
			return exitInterrupted
		case err != nil:
			return v.fail(exitTurnFailed, err)
		}
		for _, e := range v.newest[max(0, len(v.newest)-v.filter.limit):] {
			v.print(e)
		}
		v.newest, v.filter.limit = nil, 0
		if !follow {
			return v.end(root)
		}
		select {
		case <-ctx.Done():
			return exitInterrupted
		case <-tick.C:
		}
	}
}

// end says why there is nothing.
func (v *auditView) end(root string) int {
	if v.matched > 0 || v.code != exitOK {
		return v.code
	}
	if logs, err := audit.Logs(root); err == nil && len(logs) == 0 {
		fmt.Fprintf(v.stderr, "gatehouse: there is no audit log in %s; gatehouse serve and gatehouse run write one\n", escapeControl(root))
	} else {
		fmt.Fprintln(v.stderr, "gatehouse: audit: no record fits; gatehouse audit show without filters shows all there are")
	}
	return v.code
}

func (v *auditView) entry(ctx context.Context, e audit.Entry) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case e.Err != nil:
		if !v.warned[e.Boot] {
			v.code = v.fail(exitTurnFailed, fmt.Errorf("audit: %w; gatehouse audit verify tells more", e.Err))
			v.warned[e.Boot] = true
		}
	case !v.filter.Match(&e.Record):
	case v.filter.limit == 0:
		v.matched++
		v.print(e)
	default:
		v.matched++
		e.Raw = bytes.Clone(e.Raw)
		if v.newest = append(v.newest, e); len(v.newest) > 2*v.filter.limit {
			v.newest = append(v.newest[:0], v.newest[len(v.newest)-v.filter.limit:]...)
		}
	}
	return nil
}
