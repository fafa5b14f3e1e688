package plugins

import (
	"context"
	"fmt"
	"time"
)

// Slots of calls.
const (
	// SlotWait is how long a call waits for a slot before it fails.
	SlotWait = 10 * time.Second
	// ToolSlots is how many tools of plugins run at a time. They have slots of their
	// own, so that slow tools never hold up permissions.
	ToolSlots = 4
)

// slots bounds how many calls run at a time.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take waits for a slot, for ctx or for SlotWait.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(SlotWait)
	defer wait.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cancelled while all %d slots were taken: %w", cap(s), context.Cause(ctx))
	case <-wait.C:
		return fmt.Errorf("not called, as all %d slots were taken for %v", cap(s), SlotWait)
	}
}

func (s slots) release() { <-s }
