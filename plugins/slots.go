package plugins

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Slots of calls.
const (
	// SlotWait is how long a call waits for a slot before it fails.
	SlotWait = 10 * time.Second
	// ToolSlots is how many tools of plugins run at a time. They have slots of their
	// own, so that slow tools never hold up permissions.
	ToolSlots = 4
	// MaxSlots bounds the memory of calls on machines with many cores: each may have
	// its linear memory and 150 MB of stack.
	MaxSlots = 16
)

// parallel is how many calls run at a time, those of tools and of session_event
// apart: one for each core, and two at least, so that one plugin never has all of them.
func parallel() int { return min(max(runtime.GOMAXPROCS(0), 2), MaxSlots) }

// slots bounds how many calls run at a time. Who waits longest is next.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

func (s slots) release() { <-s }

// try takes a slot if one is free, for which nobody waits then.
func (s slots) try() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

var (
	errHostEnds  = errors.New("the server ends")
	errSlotsLong = fmt.Errorf("for %v", SlotWait)
)

// wait waits for a slot, until late or for ctx or for ended.
func (s slots) wait(ctx context.Context, ended <-chan struct{}, late <-chan time.Time) error {
	if s.try() {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-ended:
		return errHostEnds
	case <-late:
		return errSlotsLong
	}
}

// lane is where a call waits for its slot: among the calls of its plugin first, so
// that those of a slow plugin that wait are not in the way of others, then among all.
type lane struct {
	own slots // all but one of all
	all slots
}

func newLane(all slots) lane { return lane{newSlots(max(1, cap(all)-1)), all} }

// take waits for a slot, for ctx, for SlotWait, or until the host ends.
func (l lane) take(ctx context.Context, ended <-chan struct{}) error {
	if l.own.try() {
		if l.all.try() {
			return nil
		}
		l.own.release()
	}
	late := time.NewTimer(SlotWait)
	defer late.Stop()
	return l.queue(ctx, ended, late.C)
}

// queue is take with another bound than SlotWait; nil: none.
func (l lane) queue(ctx context.Context, ended <-chan struct{}, late <-chan time.Time) error {
	if err := l.own.wait(ctx, ended, late); err != nil {
		return notCalled(fmt.Sprintf("all slots of one plugin (%d)", cap(l.own)), err)
	}
	if err := l.all.wait(ctx, ended, late); err != nil {
		l.own.release()
		return notCalled(fmt.Sprintf("all %d slots", cap(l.all)), err)
	}
	return nil
}

func (l lane) release() {
	l.all.release()
	l.own.release()
}

// notCalled says why a call did not get a slot.
func notCalled(what string, err error) error {
	if errors.Is(err, errSlotsLong) {
		return fmt.Errorf("not called, as %s were taken %w", what, err)
	}
	return fmt.Errorf("cancelled while %s were taken: %w", what, err)
}
