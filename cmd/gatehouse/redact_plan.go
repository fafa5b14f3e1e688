package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// planned covers payloads of one sort as the policies in force say.
type planned struct {
	redactor *policy.Redactor
	payload  event.Payload // without data
}

// planned loads the policies in force. nil: no sort of payload was named.
func (c *command) planned(ctx context.Context, o *redactFlags, options redact.Options) (*planned, error) {
	if !o.payload.given() && o.tool == "" {
		return nil, nil
	}
	if o.noConfig {
		return nil, errors.New("redact: --sink, --event, --tool and --failed ask the policies in force, which --no-config leaves out")
	}
	if err := o.payload.check(o.tool); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	s, err := c.toolSettings(&o.options)
	if err != nil {
		return nil, err
	}
	r, err := openRollout(ctx, s, newLogger(c.stderr, slog.LevelWarn))
	if err != nil {
		return nil, err
	}
	return &planned{
		redactor: policy.NewRedactor(r.live, policy.RedactorOptions{Options: options}),
		payload: event.Payload{
			Sink: event.Sink(o.payload.sink), Kind: event.Kind(o.payload.kind), Tool: o.tool, IsError: o.payload.failed,
			Origin: &event.Origin{Cwd: s.start, Mode: "default", Client: "terminal", Transport: "terminal"},
		},
	}, nil
}

// JSON covers a payload.
func (p *planned) JSON(ctx context.Context, document json.RawMessage) (json.RawMessage, []redact.Finding, error) {
	payload := p.payload
	payload.Data = document
	out, found, err := p.redactor.Redact(ctx, payload)
	if err != nil {
		return nil, nil, fmt.Errorf("the policies do not say what to cover, so a session would withhold it: %w", err)
	}
	var findings []redact.Finding
	for _, f := range found {
		findings = append(findings, redact.Finding{Pointer: f.Pointer, Detector: f.Detector, Count: f.Count})
	}
	return out, findings, nil
}

// String covers a text that is a whole payload.
func (p *planned) String(ctx context.Context, text string) (covered string, findings []redact.Finding, err error) {
	document, err := json.Marshal(text)
	if err != nil {
		return "", nil, err
	}
	out, findings, err := p.JSON(ctx, document)
	switch {
	case err != nil:
		return "", nil, err
	case len(findings) == 0:
		return text, nil, nil
	}
	err = json.Unmarshal(out, &covered)
	return covered, findings, err
}
