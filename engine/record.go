package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// A resume token is as old as the answer it came with, and can be used again.
// What has to outlive it stands in a small file for each session that can be
// resumed: what the session cost, and whether it was ended for good.

// resumeRecord is one such file.
type resumeRecord struct {
	Turns     int     `json:"turns"`
	CostUSD   float64 `json:"costUsd"`
	Cancelled bool    `json:"cancelled"`
}

// recordBound is more than any record has, in bytes.
const recordBound = 4 << 10

// recorded reports whether sessions leave records: where nobody can resume
// there is no need for them.
func (e *Engine) recorded() bool { return e.sealer != nil && e.o.StateDir != "" }

func (e *Engine) recordPath(id string) string {
	return filepath.Join(e.o.StateDir, "resumable", id+".json")
}

// remember writes the session's record. It replaces the file as a whole, so
// that a crash leaves the old one or the new one.
func (s *Session) remember() {
	if !s.engine.recorded() || !s.persists() {
		return
	}
	s.recording.Lock() // a turn's end and a cancel may come at once
	defer s.recording.Unlock()
	s.mu.Lock()
	r := resumeRecord{Turns: s.info.TotalTurns, CostUSD: s.info.TotalCostUSD, Cancelled: s.state == Cancelled && s.final}
	s.mu.Unlock()
	if err := s.engine.writeRecord(s.id, r); err != nil {
		s.engine.log.Error("record of a session", "session", s.id, "error", err)
	}
}

func (e *Engine) writeRecord(id string, r resumeRecord) error {
	path := e.recordPath(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*") // created 0600
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// recall reads the record of a session that is to be resumed; there may be
// none. One that cannot be read refuses: it might say that the session ended.
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
		return r, Errorf(Internal, "resume: record of session %s: %w; remove the file if the session may go on", id, err)
	}
	return r, nil
}

// dropRecords removes those no token can name any more.
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
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > e.o.ResumeTTL {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
