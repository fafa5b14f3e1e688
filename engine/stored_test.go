package engine

import (
	"strings"
	"testing"
)

// A CLI may tell of as many tools as a line holds; the record of a session is
// written often and has to stay small.
func TestRecordIsBounded(t *testing.T) {
	e, err := New(Options{Roots: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	s := e.newSession(StartParams{Prompt: "x"}, "")
	defer s.end(nil)
	for range 100_000 {
		s.info.Tools = append(s.info.Tools, "mcp__server__tool_of_some_length")
	}
	s.info.LastToolUseID = strings.Repeat("t", 1<<20)
	s.info.Model, s.info.CLIVersion = strings.Repeat("m", 1<<20), "2.1.197"
	r := s.sessionRecord()
	if n := len(r.Engine); n > 2*keptTools {
		t.Errorf("%d bytes", n)
	}
	k, err := readKept(r)
	if err != nil || len(k.Tools) < 1000 || k.ToolUse != "" || k.Model != "" || k.Version != "2.1.197" {
		t.Errorf("%d tools, tool use %d, model %d, version %q, %v", len(k.Tools), len(k.ToolUse), len(k.Model), k.Version, err)
	}
}
