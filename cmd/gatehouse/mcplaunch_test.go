package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Calls that block, beside others. Lines of a calls file:
//
//	launch NAME TOOL {json}   call a tool; the next line is played meanwhile
//	landed NAME               wait for its answer and print it; it sets $ID
//	withdraw NAME             cancel the call, as a client does that waits no longer
//	seen N MEMBER=VALUE       wait until so many of mpm_session_list's sessions say so;
//	                          $FIRST and $LAST are the ids of the ends
//	ascending MEMBER          that member rises over mpm_session_list's sessions
type launched struct {
	tool   string
	cancel context.CancelFunc
	answer chan launchedAnswer
}

type launchedAnswer struct {
	raw     []byte
	refused bool
	err     error
}

func (c *client) launch(ctx context.Context, line string) error {
	name, rest, _ := strings.Cut(line, " ")
	tool, arguments, _ := strings.Cut(rest, " ")
	ctx, cancel := context.WithCancel(ctx)
	l := &launched{tool: tool, cancel: cancel, answer: make(chan launchedAnswer, 1)}
	if c.launched == nil {
		c.launched = map[string]*launched{}
	}
	c.launched[name] = l
	go func() { // ends with the answer, or with the client
		raw, refused, err := c.send(ctx, tool, json.RawMessage(arguments))
		l.answer <- launchedAnswer{raw, refused, err}
	}()
	return nil
}

func (c *client) landed(ctx context.Context, name string) error {
	l := c.launched[name]
	if l == nil {
		return fmt.Errorf("nothing was launched as %s", name)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case a := <-l.answer:
		l.cancel()
		if errors.Is(a.err, context.Canceled) {
			fmt.Printf("%s withdrawn\n", l.tool)
			return nil
		}
		if a.err != nil {
			return a.err
		}
		mark := ""
		if a.refused {
			mark = "error "
		}
		fmt.Printf("%s %s%s\n", l.tool, mark, a.raw)
		_, err := c.note(a.raw)
		return err
	}
}

func (c *client) withdraw(name string) error {
	if c.launched[name] == nil {
		return fmt.Errorf("nothing was launched as %s", name)
	}
	c.launched[name].cancel()
	return nil
}

// listed are the sessions of mpm_session_list.
func (c *client) listed(ctx context.Context) ([]map[string]any, error) {
	raw, refused, err := c.send(ctx, "mpm_session_list", json.RawMessage(`{}`))
	if err != nil || refused {
		return nil, fmt.Errorf("mpm_session_list: %s %v", raw, err)
	}
	var list struct{ Sessions []map[string]any }
	err = json.Unmarshal(raw, &list)
	return list.Sessions, err
}

func (c *client) seen(ctx context.Context, line string) error {
	var n int
	var wanted string
	if _, err := fmt.Sscanf(line, "%d %s", &n, &wanted); err != nil {
		return err
	}
	member, value, _ := strings.Cut(wanted, "=")
	for {
		sessions, err := c.listed(ctx)
		if err != nil {
			return err
		}
		all := fmt.Sprint(sessions)
		sessions = slices.DeleteFunc(sessions, func(s map[string]any) bool { return fmt.Sprint(s[member]) != value })
		if len(sessions) == n && n > 0 {
			c.vars["FIRST"], c.vars["LAST"] = fmt.Sprint(sessions[0]["session_id"]), fmt.Sprint(sessions[n-1]["session_id"])
		}
		if len(sessions) == n {
			fmt.Printf("seen %s\n", line)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d sessions have %s: %s", len(sessions), wanted, all)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *client) ascending(ctx context.Context, member string) error {
	sessions, err := c.listed(ctx)
	if err != nil {
		return err
	}
	for i := 1; i < len(sessions); i++ {
		before, after := fmt.Sprint(sessions[i-1][member]), fmt.Sprint(sessions[i][member])
		if before >= after {
			return fmt.Errorf("session %d of %d: %s is %s, after %s", i, len(sessions), member, after, before)
		}
	}
	fmt.Printf("ascending %s: %d\n", member, len(sessions))
	return nil
}
