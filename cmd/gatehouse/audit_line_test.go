package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
)

// hostileText has what a terminal would obey and what nobody would see.
const hostileText = "a\x1b[2Jb\u009b31mc\u202ed\u200be\x7ff\U000e0001g\r\nh"

func hostileRecord() *audit.Record {
	detail, _ := json.Marshal(map[string]string{"message": hostileText})
	return &audit.Record{
		Kind: audit.Kind(hostileText), Session: hostileText, Tool: hostileText, Action: hostileText, Boot: "b", Time: time.Now(),
		Input: &audit.Input{Excerpt: hostileText}, Verdict: &audit.Verdict{Effect: hostileText, Rule: hostileText, Reason: hostileText},
		By: &audit.By{Kind: hostileText, Name: hostileText}, Principal: &audit.Principal{Client: hostileText}, Detail: detail,
	}
}

func tamedText(t *testing.T, what, text string) {
	t.Helper()
	for _, bad := range []string{"\x1b", "\u009b", "\u202e", "\u200b", "\x7f", "\U000e0001", "\r", "\n"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s holds %q: %q", what, bad, text)
		}
	}
}

// Nothing that stands in a log reaches a terminal as a command, in any form.
func TestAuditLinesArePlain(t *testing.T) {
	r := hostileRecord()
	tamedText(t, "show", auditLine(r))
	r.Verdict, r.Input = nil, nil
	tamedText(t, "show of a detail", auditLine(r))
	r = hostileRecord()
	line := strings.TrimSuffix(string(exported(r)), "\n")
	tamedText(t, "export", line)
	var back exportedRecord
	if err := json.Unmarshal([]byte(line), &back); err != nil || back.InputExcerpt != hostileText || back.Tool != hostileText {
		t.Errorf("export means something else: %v, %q", err, back.InputExcerpt)
	}
}

func TestPlainLine(t *testing.T) {
	raw := "{\"a\":\t\"x\u009b\u202e\U000e0001\x7f\xffé漢\",\r\"b\":1}"
	got := plainLine([]byte(raw))
	tamedText(t, "the line", string(got))
	var want, have map[string]any
	if err := json.Unmarshal([]byte(raw), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &have); err != nil || !reflect.DeepEqual(want, have) || !strings.Contains(string(got), "é漢") {
		t.Errorf("%q, %v", got, err)
	}
}

// An answer that was admitted tells what was answered, besides that it may be.
func TestAuditLineOfAnAnswer(t *testing.T) {
	r := &audit.Record{Kind: audit.Admission, Action: "answer", Verdict: &audit.Verdict{Effect: "allow", Rule: "admission.default"}, Detail: json.RawMessage(`{"effect":"deny","approver":"caller"}`)}
	if line := auditLine(r); !strings.Contains(line, "allow            admission answer deny") {
		t.Errorf("%q", line)
	}
}
