package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// An output that is too long is written to a file before any hook runs, and the
// model gets the beginning and the path (CLI 2.1.197: <transcript without
// .jsonl>/tool-results/). Those files are covered in place; what cannot be is
// removed.

// spilled is what a session knows of such files.
type spilled struct {
	mu         sync.Mutex
	transcript string              // path of the CLI's, once a hook told it
	known      map[string]fileMark // files that were looked at, by name
}

type fileMark struct {
	size int64
	at   time.Time
}

const (
	maxSpilled     = 2048     // files looked at in one session; further ones are removed
	maxSpilledFile = 32 << 20 // bytes of a file that is looked at; larger ones are removed
)

// coverSpilled covers the files that a hook's input names. Other calls may still
// be writing theirs.
func (s *Session) coverSpilled(tool string, input map[string]json.RawMessage) {
	transcript := textOf(input["transcript_path"])
	if filepath.Base(transcript) != s.id+".jsonl" || !filepath.IsAbs(transcript) {
		return
	}
	s.spilled.mu.Lock()
	defer s.spilled.mu.Unlock()
	s.spilled.transcript = transcript
	told := string(input["tool_response"]) + string(input["error"])
	if strings.Contains(told, "tool-results") {
		demanded := s.duties.demanded(textOf(input["agent_id"]), textOf(input["tool_use_id"]))
		s.coverFiles(spiller{tool, demanded}, func(name string) bool { return strings.Contains(told, name) })
	}
}

// coverRest covers what no hook named. No call runs any more.
func (s *Session) coverRest() {
	s.spilled.mu.Lock()
	defer s.spilled.mu.Unlock()
	s.coverFiles(spiller{}, func(string) bool { return true })
}

// spiller is the call whose output was put aside; the zero value: nobody knows.
type spiller struct {
	tool    string
	plugins []string // that have to see it
}

// coverFiles goes through the folder; s.spilled.mu is held.
func (s *Session) coverFiles(of spiller, wanted func(name string) bool) {
	if s.spilled.transcript == "" || len(s.engine.o.Redactors) == 0 {
		return
	}
	root, err := os.OpenRoot(filepath.Dir(s.spilled.transcript))
	if err != nil {
		return // nothing was written yet
	}
	defer root.Close()
	folder := path.Join(s.id, "tool-results")
	for _, dir := range []string{s.id, folder} {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() { // a link leads elsewhere
			return
		}
	}
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		s.notice("spilled_output", "the folder of long outputs cannot be read, so they are not covered there: "+err.Error(), nil)
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && wanted(e.Name()) {
			s.coverFile(root, folder, e.Name(), of)
		}
	}
}

// coverFile covers one file, unless it was looked at as it is.
func (s *Session) coverFile(root *os.Root, folder, name string, of spiller) {
	file := path.Join(folder, name)
	info, err := root.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || !ownedByUs(info) {
		return // gone, or none of the CLI's
	}
	mark := fileMark{info.Size(), info.ModTime()}
	if s.spilled.known[name] == mark {
		return
	}
	found, err := s.rewriteSpilled(root, file, info.Mode().Perm(), of)
	if err != nil {
		s.removeSpilled(root, file, err)
		return
	}
	if info, err = root.Lstat(file); err == nil {
		mark = fileMark{info.Size(), info.ModTime()}
	}
	if s.spilled.known == nil {
		s.spilled.known = make(map[string]fileMark)
	}
	s.spilled.known[name] = mark
	if found != nil {
		s.notice("spilled_output", "a long output that the CLI had put aside was covered in its file", map[string]any{"file": name, "redactions": found})
	}
}

// rewriteSpilled replaces the file when something in it has to be covered.
func (s *Session) rewriteSpilled(root *os.Root, file string, mode fs.FileMode, of spiller) ([]event.Redaction, error) {
	if !s.seeOutput(of.plugins) {
		return nil, fmt.Errorf("plugin %s has to see it, and does not see the output of tools now", strings.Join(of.plugins, ", "))
	}
	if len(s.spilled.known) >= maxSpilled {
		return nil, fmt.Errorf("the session has more than %d of them", maxSpilled)
	}
	s.engine.spilling.Lock() // one at a time: a large one takes many times its size
	defer s.engine.spilling.Unlock()
	raw, err := regular.ReadIn(root, file, maxSpilledFile)
	if err != nil {
		return nil, err
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	given, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	ctx := event.WithDemand(s.untilDone(), of.plugins...)
	out, found, ok := s.log.Redact(ctx, event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: of.tool, Data: given})
	var covered string
	if !ok || json.Unmarshal(out, &covered) != nil {
		return nil, errors.New("redaction ended with an error")
	}
	if covered == text {
		return nil, nil
	}
	if len(found) == 0 {
		found = []event.Redaction{} // covered all the same
	}
	return found, replaceIn(root, file, []byte(covered), mode)
}

func (s *Session) removeSpilled(root *os.Root, file string, cause error) {
	message := "a long output that the CLI had put aside could not be covered (" + cause.Error() + "); its file was removed"
	if err := root.Remove(file); err != nil {
		message = "a long output that the CLI had put aside could neither be covered (" + cause.Error() + ") nor removed: " + err.Error()
		s.engine.log.Error("long output of a tool left uncovered on disk", "session", s.id, "error", s.forLog(err.Error()))
	}
	s.notice("spilled_output", message, map[string]any{"file": path.Base(file), "removed": true})
}

// replaceIn puts content in a file's place, inside root; readers find the old
// content or the new one whole.
func replaceIn(root *os.Root, file string, content []byte, mode fs.FileMode) error {
	part := path.Join(path.Dir(file), ".new-"+rand.Text())
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer root.Remove(part) // gone already when all went well
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return root.Rename(part, file)
}
