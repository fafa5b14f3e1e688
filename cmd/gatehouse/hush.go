package main

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// hushing is logger until hush is called. What plugins log while they are loaded is
// told nowhere else; what they log in calls that are tried is part of the answer.
func hushing(logger *slog.Logger) (until *slog.Logger, hush func()) {
	over := new(atomic.Bool)
	return slog.New(hushed{logger.Handler(), over}), func() { over.Store(true) }
}

type hushed struct {
	slog.Handler
	over *atomic.Bool
}

func (h hushed) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.over.Load() && h.Handler.Enabled(ctx, level)
}

func (h hushed) WithAttrs(attributes []slog.Attr) slog.Handler {
	return hushed{h.Handler.WithAttrs(attributes), h.over}
}

func (h hushed) WithGroup(name string) slog.Handler {
	return hushed{h.Handler.WithGroup(name), h.over}
}
