package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// until is the run of a conversation that heeds nothing but end.
func until(end <-chan struct{}, err error) func(context.Context) error {
	return func(context.Context) error { <-end; return err }
}

func TestConversationEnds(t *testing.T) {
	now, never := make(chan struct{}), make(chan struct{})
	close(now)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	stuck := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		name   string
		ctx    context.Context
		run    func(context.Context) error
		hungUp <-chan struct{}
		close  func(context.Context) error
		want   error
		logged string
	}{
		{"the client leaves", t.Context(), until(now, nil), never, nil, nil, ""},
		{"the connection breaks", t.Context(), until(now, broken), never, nil, nil, "broken pipe"},
		{"a signal", stopped, until(now, context.Canceled), never, nil, nil, ""},
		{"stdin ends with a call stuck", t.Context(), until(never, nil), now, nil, errCallsLeft, ""},
		{"a signal with a call stuck", stopped, until(never, nil), never, nil, errCallsLeft, ""},
		{"a session stuck", t.Context(), until(now, nil), never, stuck, context.DeadlineExceeded, ""},
		{"a session and a call stuck", stopped, until(never, nil), never, stuck, context.DeadlineExceeded, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			closed := false
			got := conversation{
				run: c.run, hungUp: c.hungUp, callTime: time.Millisecond, closeTime: 20 * time.Millisecond,
				close: func(ctx context.Context) error {
					closed = true
					if c.close == nil {
						return nil
					}
					return c.close(ctx)
				},
			}.serve(c.ctx, slog.New(slog.NewTextHandler(&log, nil)))
			if !errors.Is(got, c.want) || !closed {
				t.Errorf("error %v, want %v; sessions closed: %v", got, c.want, closed)
			}
			if (log.Len() > 0) != (c.logged != "") || !strings.Contains(log.String(), c.logged) {
				t.Errorf("logged %q, want %q", &log, c.logged)
			}
		})
	}
}

// A call that ends because its session was closed is waited for.
func TestConversationEndsCallsWithTheirSessions(t *testing.T) {
	over, hungUp := make(chan struct{}), make(chan struct{})
	close(hungUp)
	err := conversation{
		run: until(over, nil), hungUp: hungUp, callTime: time.Millisecond, closeTime: time.Minute,
		close: func(context.Context) error { close(over); return nil },
	}.serve(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Error(err)
	}
}

func TestWatchedTellsOnce(t *testing.T) {
	told := 0
	w := &watched{Reader: strings.NewReader("text"), ended: func() { told++ }}
	for range 2 {
		if _, err := io.ReadAll(w); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
