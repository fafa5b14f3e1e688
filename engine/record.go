package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// A resume token is as old as the answer it came with, and can be used again,
// also with another server. What has to outlive it stands in a small file for
// each session that can be resumed.

// resumeRecord is one such file. It only grows: totals rise, rules are added,
// and what was cancelled stays so.
type resumeRecord struct {
	Turns     int      `json:"turns"`
	Prompts   int      `json:"prompts,omitempty"` // turns that have ended
	CostUSD   float64  `json:"costUsd"`
	Cancelled bool     `json:"cancelled"`      // for good
	Deny      []string `json:"deny,omitempty"` // rules that answers added
	Taint     []string `json:"taint,omitempty"`
	Prompt    string   `json:"prompt,omitempty"` // SHA-256 of the first one
	Mode      string   `json:"mode,omitempty"`   // to which answers narrowed it
}

const (
	// recordBound is more than any record has, in bytes.
	recordBound = 1 << 20
	// recordTries bounds the wait for another server that writes the same record.
	recordTries = 200
	recordPause = 5 * time.Millisecond
	// staleRecord is the age of a lock on a record that nobody holds any more: one
	// is held while a small file is written. It counts where claims are files.
	staleRecord = 10 * time.Second
)

// with joins two records.
func (r resumeRecord) with(o resumeRecord) resumeRecord {
	r.Turns, r.CostUSD, r.Cancelled = max(r.Turns, o.Turns), max(r.CostUSD, o.CostUSD), r.Cancelled || o.Cancelled
	r.Prompts = max(r.Prompts, o.Prompts)
	r.Deny, r.Taint = joined(r.Deny, o.Deny), joined(r.Taint, o.Taint)
	if o.Mode != "" && (r.Mode == "" || stricter(r.Mode, o.Mode) == o.Mode) {
		r.Mode = o.Mode
	}
	if o.Prompt != "" {
		r.Prompt = o.Prompt // what was recorded first
	}
	return r
}

// joined is a with what of b it lacks.
func joined(a, b []string) []string {
	a = slices.Clone(a)
	for _, rule := range b {
		if !slices.Contains(a, rule) {
			a = append(a, rule)
		}
	}
	return a
}

// recorded reports whether sessions leave records: where nobody can resume
// there is no need for them.
func (e *Engine) recorded() bool { return e.sealer != nil }

func (e *Engine) recordPath(id string) string {
	return filepath.Join(e.o.StateDir, "resumable", id+".json")
}

// remember adds to the session's record what happened since.
func (s *Session) remember() error {
	if !s.engine.recorded() {
		return nil
	}
	s.recording.Lock() // a turn's end and a cancel may come at once
	defer s.recording.Unlock()
	s.mu.Lock()
	r := resumeRecord{Turns: s.info.TotalTurns, CostUSD: s.info.TotalCostUSD, Cancelled: s.state == Cancelled && s.final, Deny: s.rules.deny}
	r.Prompts = s.prompts
	r.Taint, r.Prompt, r.Mode = s.history.tainted(), s.prompt, s.narrowedLocked()
	s.mu.Unlock()
	if err := s.engine.addRecord(s.id, r); err != nil {
		s.engine.log.Error("record of a session", "session", s.id, "error", err)
		s.notice("record", "what happened in this session could not be kept, so a resume token may undo it after a restart: "+err.Error(), nil)
		return fmt.Errorf("record session %s: %w", s.id, err)
	}
	return nil
}

// addRecord joins r and what is recorded already. The file is replaced as a
// whole, so that a crash leaves the old one or the new one.
func (e *Engine) addRecord(id string, r resumeRecord) error {
	path := e.recordPath(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Take(path+".lock", staleRecord)
	for range recordTries {
		if !errors.Is(err, filelock.ErrHeld) {
			break
		}
		time.Sleep(recordPause)
		unlock, err = filelock.Take(path+".lock", staleRecord)
	}
	if err != nil {
		return err
	}
	defer unlock()
	known, err := e.recall(id)
	if err != nil {
		return err
	}
	return replaceFile(path, r.with(known))
}

func replaceFile(path string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return regular.Replace(path, raw)
}

// recall reads the record of a session; there may be none. One that cannot be
// read refuses: it might say that the session ended.
func (e *Engine) recall(id string) (resumeRecord, error) {
	var r resumeRecord
	if !e.recorded() {
		return r, nil
	}
	raw, err := regular.Read(e.recordPath(id), recordBound)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, Errorf(Internal, "record of session %s: %w; remove the file if the session may go on", id, err)
	}
	return r, nil
}

// catchUp takes over what happened to the transcript that a process is about to
// resume, here or with another server. The id is claimed, so nobody adds a turn.
func (s *Session) catchUp(l launch) error {
	if l.resume == "" {
		return nil
	}
	r, err := s.engine.recall(l.resume)
	switch {
	case err != nil:
		return err
	case r.Cancelled:
		return Errorf(CancelledCode, "session was cancelled; start a new one")
	}
	s.mark(r.Taint...)
	defer s.tellOrigin() // the mode may be another
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.deny = joined(s.rules.deny, r.Deny)
	if stricter(s.beyond, r.Mode) != s.beyond && r.Mode != "" {
		s.narrowToLocked(r.Mode) // by answers there
	}
	if !l.fork { // a fork has totals of its own
		s.info.TotalTurns, s.info.TotalCostUSD = max(s.info.TotalTurns, r.Turns), max(s.info.TotalCostUSD, r.CostUSD)
		s.prompts = max(s.prompts, r.Prompts)
	}
	return nil
}

// dropRecords removes those that no token can be as old as. A record is written
// with each token.
func (e *Engine) dropRecords(now time.Time) {
	if !e.recorded() {
		return
	}
	dir := filepath.Dir(e.recordPath(""))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // none yet
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > MaxResumeTTL+time.Hour {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
