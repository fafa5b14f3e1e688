package main

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// scanRedactor covers what a scanner finds, wherever a payload goes: where no
// policies are loaded, and in what policies say themselves. The zero value covers
// the vendor formats.
type scanRedactor struct{ scanner redact.Scanner }

var _ event.Redactor = scanRedactor{}

// Redact never fails: what cannot be read is replaced as a whole.
func (r scanRedactor) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
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
