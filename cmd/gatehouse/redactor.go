package main

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// secretRedactor covers the secret formats package redact knows, in every event.
type secretRedactor struct{ scanner redact.Scanner }

var _ event.Redactor = secretRedactor{}

// Redact never fails: what cannot be read is replaced as a whole.
func (r secretRedactor) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	out, findings := r.scanner.JSON(p.Data)
	if findings == nil {
		return out, nil, nil
	}
	covered := make([]event.Redaction, len(findings))
	for i, f := range findings {
		covered[i] = event.Redaction{Pointer: f.Pointer, Detector: f.Detector, Count: f.Count}
	}
	return out, covered, nil
}
