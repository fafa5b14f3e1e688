package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func TestLogLines(t *testing.T) {
	secret := "AKIA" + strings.Repeat("Q7", 8)
	tests := map[string]func(*slog.Logger){
		"message":    func(l *slog.Logger) { l.Warn("it is " + secret) },
		"string":     func(l *slog.Logger) { l.Warn("m", "key", "a "+secret) },
		"error":      func(l *slog.Logger) { l.Warn("m", "error", errors.New("no: "+secret)) },
		"list":       func(l *slog.Logger) { l.Warn("m", "all", []string{"x", secret}) },
		"struct":     func(l *slog.Logger) { l.Warn("m", "s", struct{ A map[string]string }{map[string]string{"k": secret}}) },
		"key":        func(l *slog.Logger) { l.Warn("m", secret, 1) },
		"group":      func(l *slog.Logger) { l.WithGroup("g").With("w", secret).Warn("m") },
		"group name": func(l *slog.Logger) { l.WithGroup("in "+secret).Warn("m", "a", 1) },
		"value":      func(l *slog.Logger) { l.Warn("m", "v", secretValue{secret}) },
		"nested": func(l *slog.Logger) {
			l.Warn("m", "e", fmt.Errorf("a: %w", errors.Join(errors.New("b"), errors.New(secret))))
		},
		"long":        func(l *slog.Logger) { l.Warn(strings.Repeat("all is well ", 100000) + secret) },
		"odd bytes":   func(l *slog.Logger) { l.Warn("m", "a", "\xff\x00\x1b"+secret+"\xc3") },
		"nested JSON": func(l *slog.Logger) { l.Warn("m", "raw", `{"k":"`+secret+`"}`) },
	}
	for name, log := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			log(newLogger(&b, slog.LevelInfo))
			if strings.Contains(b.String(), secret) || !strings.Contains(b.String(), "[REDACTED:") {
				t.Errorf("the line is %s", &b)
			}
			if !json.Valid(b.Bytes()) || strings.Count(b.String(), "\n") != 1 {
				t.Errorf("the line is not one JSON object: %q", b.String())
			}
		})
	}
}

// secretValue tells itself only when it is logged.
type secretValue struct{ text string }

func (v secretValue) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", v.text)) }

// Many write at once, one of them changes what is covered; each line is whole.
func TestLogOfMany(t *testing.T) {
	secret := "AKIA" + strings.Repeat("Q7", 8)
	var b bytes.Buffer
	logger := newLogger(&b, slog.LevelInfo)
	beside := besideLog(logger, scanRedactor{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				logger.With("who", i).Warn("m", "n", n, "k", secret)
				beside.Warn("m", "n", n, "k", secret)
				coverLog(logger, scanRedactor{})
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) || !strings.Contains(line, "[REDACTED:aws]") {
			t.Fatalf("a line is %q", line)
		}
	}
	if len(lines) != 800 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestLogHoldsNoRawControl(t *testing.T) {
	text := "a\x1b[31m\u009b31m\u202e\n\u200b\U000e0041\x7f\xff é ✓ b"
	var b bytes.Buffer
	newLogger(&b, slog.LevelInfo).Warn("m", "text", text, "error", errors.New(text))
	line, _ := strings.CutSuffix(b.String(), "\n")
	if line != escapeControl(line) {
		t.Errorf("raw characters in %q", line)
	}
	var got struct{ Text, Error string }
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(text, "\xff", "\ufffd"); got.Text != want || got.Error != want {
		t.Errorf("text %q, error %q, want %q", got.Text, got.Error, want)
	}
}

// failingRedactor fails, as policies do that end with an error.
type failingRedactor struct{}

func (failingRedactor) Redact(context.Context, event.Payload) (json.RawMessage, []event.Redaction, error) {
	return nil, nil, errors.New("no plan")
}

func TestLogWithholdsWhatCannotBeCovered(t *testing.T) {
	var b bytes.Buffer
	logger := newLogger(&b, slog.LevelWarn)
	coverLog(logger, failingRedactor{})
	logger.Warn("the text", "and", "more")
	if got := b.String(); strings.Contains(got, "the text") || strings.Contains(got, "more") || !strings.Contains(got, "withheld") {
		t.Errorf("the line is %q", got)
	}
	if !json.Valid(b.Bytes()) {
		t.Errorf("the line is no JSON: %q", b.String())
	}
}

func TestLogTellsTheSink(t *testing.T) {
	var b bytes.Buffer
	var got event.Payload
	see := redactorFunc(func(p event.Payload) { got = p })
	logger := newLogger(&b, slog.LevelWarn)
	coverLog(logger, see)
	beside := besideLog(logger, scanRedactor{})
	logger.Info("below the level")
	if got.Sink != "" {
		t.Errorf("a line below the level was written: %+v", got)
	}
	if beside.Warn("m"); got.Sink != "" || b.Len() == 0 {
		t.Errorf("the logger beside it asked the redactor: %+v", got)
	}
	if logger.Warn("m"); got.Sink != event.SinkLog || got.Kind != event.Notice || !json.Valid(got.Data) {
		t.Errorf("the redactor was given %+v", got)
	}
}

// redactorFunc looks at payloads and covers nothing.
type redactorFunc func(event.Payload)

func (f redactorFunc) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	f(p)
	return p.Data, nil, nil
}
