package engine

import (
	"context"
	"errors"
	"testing"
)

// A start that ran out of time, or was aborted, before there was a process says so.
func TestSpawnErrorKeepsItsCause(t *testing.T) {
	for _, tt := range []struct {
		cause error
		code  Code
	}{
		{errInitTimeout(1, 0), Timeout},
		{Errorf(CancelledCode, "the turn was cancelled"), CancelledCode},
		{nil, CancelledCode},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tt.cause)
		err := spawnError(ctx, errors.New("killed"))
		if CodeOf(err) != tt.code || tt.cause != nil && err.Error() != tt.cause.Error() {
			t.Errorf("%v: told as %v", tt.cause, err)
		}
	}
}
