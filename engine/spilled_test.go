package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// covering replaces SECRET, and fails where it reads FAIL.
type covering struct{}

func (covering) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	text := string(p.Data)
	switch {
	case strings.Contains(text, "FAIL"):
		return nil, nil, errors.New("no")
	case strings.Contains(text, "SECRET"):
		return json.RawMessage(strings.ReplaceAll(text, "SECRET", "[x]")), []event.Redaction{{Detector: "d", Count: 1}}, nil
	}
	return p.Data, nil, nil
}

// spilling is a session whose CLI keeps its transcript in the folder that is returned.
func spilling(t *testing.T) (*Session, string) {
	t.Helper()
	e := &Engine{o: Options{Redactors: []event.Redactor{covering{}}}, log: slog.New(slog.DiscardHandler), ctx: t.Context()}
	s := e.newSession(StartParams{}, "")
	t.Cleanup(func() { s.end(nil) })
	return s, t.TempDir()
}

func (s *Session) hookInput(folder, output string) map[string]json.RawMessage {
	path, _ := json.Marshal(filepath.Join(folder, s.id+".jsonl"))
	text, _ := json.Marshal(output)
	return map[string]json.RawMessage{"transcript_path": path, "tool_response": text}
}

func (s *Session) shownEvents() string {
	var all strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		all.Write(e.Data)
	}
	return all.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "(gone)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSpilledOutputIsCovered(t *testing.T) {
	s, folder := spilling(t)
	results := filepath.Join(s.id, "tool-results")
	write(t, folder, filepath.Join(results, "named.txt"), "a SECRET\n")
	write(t, folder, filepath.Join(results, "clean.txt"), "clean \xff\n")
	write(t, folder, filepath.Join(results, "other.txt"), "a SECRET of another call\n")
	if err := os.Chmod(filepath.Join(folder, results, "named.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.coverSpilled("Bash", s.hookInput(folder, "saved to tool-results/named.txt and tool-results/clean.txt"))
	at := func(name string) string { return content(t, filepath.Join(folder, results, name)) }
	if at("named.txt") != "a [x]\n" || at("clean.txt") != "clean \xff\n" || at("other.txt") != "a SECRET of another call\n" {
		t.Errorf("files: %q, %q, %q", at("named.txt"), at("clean.txt"), at("other.txt"))
	}
	if info, err := os.Stat(filepath.Join(folder, results, "named.txt")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if told := s.shownEvents(); strings.Count(told, `"spilled_output"`) != 1 || !strings.Contains(told, `"file":"named.txt"`) || !strings.Contains(told, `"detector":"d"`) {
		t.Errorf("told %s", told)
	}
	s.coverRest()
	if at("other.txt") != "a [x] of another call\n" {
		t.Errorf("other.txt: %q", at("other.txt"))
	}
	events := len(s.Events(nil, 0).Events)
	if s.coverRest(); len(s.Events(nil, 0).Events) != events {
		t.Errorf("covered again: %s", s.shownEvents())
	}
	if left, err := os.ReadDir(filepath.Join(folder, results)); err != nil || len(left) != 3 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSpilledOutputThatCannotBeCoveredIsRemoved(t *testing.T) {
	s, folder := spilling(t)
	results := filepath.Join(s.id, "tool-results")
	write(t, folder, filepath.Join(results, "fails.txt"), "a SECRET, FAIL\n")
	write(t, folder, filepath.Join(results, "large.txt"), "")
	if err := os.Truncate(filepath.Join(folder, results, "large.txt"), maxSpilledFile+1); err != nil {
		t.Fatal(err)
	}
	s.coverSpilled("Bash", s.hookInput(folder, "tool-results fails.txt large.txt"))
	for _, name := range []string{"fails.txt", "large.txt"} {
		if got := content(t, filepath.Join(folder, results, name)); got != "(gone)" {
			t.Errorf("%s is still there: %d bytes", name, len(got))
		}
	}
	if told := s.shownEvents(); strings.Count(told, `"removed":true`) != 2 {
		t.Errorf("told %s", told)
	}
}

func TestSpilledOutputOfOthersStays(t *testing.T) {
	s, folder := spilling(t)
	outside := t.TempDir()
	write(t, outside, "tool-results/kept.txt", "a SECRET")
	write(t, folder, filepath.Join(s.id, "tool-results", "x"), "")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
	}
	link(filepath.Join(outside, "tool-results", "kept.txt"), filepath.Join(s.id, "tool-results", "link.txt"))
	s.coverSpilled("Bash", s.hookInput(folder, "tool-results link.txt kept.txt"))
	s.coverRest()

	other, elsewhere := spilling(t)
	folder = elsewhere
	link(outside, other.id) // the whole folder is a link
	other.coverSpilled("Bash", other.hookInput(folder, "tool-results kept.txt"))
	other.spilled.transcript = ""
	input := other.hookInput(folder, "tool-results kept.txt")
	input["transcript_path"] = json.RawMessage(`"` + filepath.ToSlash(filepath.Join(folder, "another.jsonl")) + `"`)
	if other.coverSpilled("Bash", input); other.spilled.transcript != "" {
		t.Error("the transcript of another session was taken")
	}
	if got := content(t, filepath.Join(outside, "tool-results", "kept.txt")); got != "a SECRET" {
		t.Errorf("a file elsewhere became %q", got)
	}
}

func TestStderrCover(t *testing.T) {
	s, _ := spilling(t)
	text := "first SECRET\nsecond" + strings.Repeat("y", maxStderrLine) + "\nthird SECRET"
	want := "first [x]\n[a line of over 16384 bytes was left out]\nthird [x]"
	for _, size := range []int{1, 3, 1000, len(text)} {
		c := s.newStderrCover()
		got := ""
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			got += c.Write(rest[:n])
			rest = rest[n:]
		}
		if got += c.Close(); got != want {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}
