package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// newest waits until the newest session of claude_code_session's list has the
// status, and makes it $ID: who blocks in its start has no id to give.
func (c *client) newest(ctx context.Context, status string) error {
	for {
		raw, refused, err := c.send(ctx, "claude_code_session", json.RawMessage(`{"action":"list"}`))
		if err != nil || refused {
			return fmt.Errorf("list: %s %v", raw, err)
		}
		var list struct{ Sessions []reply }
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		if n := len(list.Sessions); n > 0 && list.Sessions[n-1].Status == status {
			c.vars["ID"] = list.Sessions[n-1].SessionID
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the newest session never was %s: %s", status, raw)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
