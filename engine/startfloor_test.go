package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// The CLI's start is given the time the variable says.
func TestStartFloor(t *testing.T) {
	const slow = `{"initialize_delay_ms":3000,"turns":[[{"text":"begun"}]]}`
	for name, c := range map[string]struct {
		caller, owner string
		begins        bool
		warned        int
	}{
		"not set":        {"", "", false, 0},
		"owner":          {"", "60000", true, 0},
		"caller":         {"60000", "1", true, 0},
		"caller's less":  {"1", "60000", false, 0},
		"no number":      {"60s", "", false, 1},
		"not whole":      {"", "6e4", false, 1},
		"signed":         {"+60000", "", false, 1},
		"too long":       {"", "600001", false, 1},
		"caller's wrong": {"soon", "60000", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := newHarness(t, slow, func(o *engine.Options) {
				o.Environ = []string{"CLAUDE_CODE_STREAM_CLOSE_TIMEOUT=" + c.owner}
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			s, err := h.start(func(p *engine.StartParams) {
				p.Env = map[string]string{"CLAUDE_CODE_STREAM_CLOSE_TIMEOUT": c.caller}
				p.SessionInitTimeout = 300_000_000 // ns
			})
			if (err == nil) != c.begins || err != nil && engine.CodeOf(err) != engine.Timeout {
				t.Fatalf("start: %v", err)
			}
			if err == nil {
				h.ended(s, "begun")
			}
			if n := strings.Count(log.String(), "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT is ignored"); n != c.warned {
				t.Errorf("warned %d times: %s", n, log.String())
			}
		})
	}
}
