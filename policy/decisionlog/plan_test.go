package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

func TestPlans(t *testing.T) {
	found := []redact.Finding{{Pointer: "/input/a", Detector: "name", Count: 1}}
	for _, test := range []struct {
		name  string
		cover Cover
		input string // of the event written; empty: stripped
	}{
		{"covers", func(_ context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			return bytes.Replace(parts, []byte(`"x"`), []byte(`"[REDACTED:name]"`), 1), found, nil
		}, `{"a":"[REDACTED:name]"}`},
		{"finds nothing", func(_ context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			return parts, nil, nil
		}, `{"a":"x"}`},
		{"fails", func(context.Context, json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			return nil, nil, errors.New("no")
		}, ""},
		{"panics", func(context.Context, json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			panic("x")
		}, ""},
		{"loses a part", func(context.Context, json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			return json.RawMessage(`{}`), found, nil
		}, ""},
		{"gives another type", func(_ context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
			return bytes.Replace(parts, []byte(`"requested_by":"`), []byte(`"requested_by":7,"x":"`), 1), found, nil
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, Options{})
			l.CoverWith(func(ctx context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
				if !bytes.Contains(parts, []byte(`"input":{"a":"x"}`)) || bytes.Contains(parts, []byte("labels")) && !bytes.Contains(parts, []byte("rule_labels")) {
					t.Errorf("the plan was shown %s", parts)
				}
				return test.cover(ctx, parts)
			})
			l.Record(entry("a", `{"a":"x"}`))
			closeLog(t, l)
			all, text := events(t, l.options.Folder)
			if len(all) != 1 {
				t.Fatalf("%d events", len(all))
			}
			if got := string(all[0].Input); got != test.input {
				t.Errorf("input %s, want %s", got, test.input)
			}
			if want := test.input != `{"a":"x"}`; all[0].Covered() != want {
				t.Errorf("covered %t, want %t: %s", all[0].Covered(), want, text)
			}
			if test.input == "" && !strings.Contains(text, "a redaction plan failed") {
				t.Errorf("the line does not say why: %s", text)
			}
		})
	}
}

// A scanner of one's own finds what the built-in formats do not.
func TestScanner(t *testing.T) {
	scanner, err := redact.New(redact.Options{Custom: []redact.Custom{{Name: "ticket", Pattern: "TCK-[0-9]{6}"}}})
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, Options{Scanner: scanner})
	l.Record(entry("a", `{"a":"see TCK-123456","TCK-654321":1}`))
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if strings.Contains(text, "TCK-") || len(all) != 1 || !all[0].Covered() {
		t.Errorf("written: %s", text)
	}
}
