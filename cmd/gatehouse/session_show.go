package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// sessionShow prints one session from its first event that is kept to its last.
func (c *command) sessionShow(_ context.Context, args []string) int {
	return c.withSession("show", args, func(o *sessionOptions, store event.Store, s keptSession) error {
		if o.json {
			c.listObjects([]keptSession{s})
		} else {
			c.header(s)
		}
		v := newKeptView(c.stdout, o, 0)
		if err := v.read(store, s.ID); err != nil {
			return err
		}
		if v.ended(s); s.busy() && !o.json {
			fmt.Fprintf(c.stdout, "\nIt goes on: gatehouse session tail %.*s\n", minShort, s.ID)
		}
		if s.Live && s.State == engine.Waiting.String() && !o.json {
			fmt.Fprintln(c.stdout, "What it waits for, and how to answer: gatehouse pending")
		}
		return nil
	})
}

// tailEvents is how many events tail begins with.
const tailEvents = 10

// tailEvery is the pause between two looks of tail.
const tailEvery = 250 * time.Millisecond

// sessionTail prints the end of a session and what comes, until no server has the
// session any more or ctx ends.
func (c *command) sessionTail(ctx context.Context, args []string) int {
	return c.withSession("tail", args, func(o *sessionOptions, store event.Store, s keptSession) error {
		v := newKeptView(c.stdout, o, max(0, s.Events-int64(o.lines)))
		tick := time.NewTicker(tailEvery)
		defer tick.Stop()
		for {
			if err := v.read(store, s.ID); err != nil {
				return err
			}
			if !s.Live && !o.wait {
				v.ended(s)
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Canceled
			case <-tick.C:
			}
			r, err := store.Session(s.ID) // looked at first: the last event comes before the end
			if errors.Is(err, event.ErrNotStored) {
				return fmt.Errorf("session %s was deleted meanwhile", s.ID)
			}
			if err != nil {
				return err
			}
			s = asKept(r)
		}
	})
}
