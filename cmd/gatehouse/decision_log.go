package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// decisionLogSettings are those of the decision log after they were checked.
type decisionLogSettings struct {
	folder   string // empty: none is kept
	maxBytes int64
	maxAge   time.Duration
}

// serverID names this run of the program in decisions and their log, unless it has
// a folder whose name does.
var serverID = rand.Text()

// decisionLogOff is the folder's name for no log at all.
const decisionLogOff = "off"

// Bounds of the decision log's retention.
const (
	maxLogMegabytes = 1 << 20
	maxLogDays      = 3650
)

// decisionLogTime is what the log gets to write its queue when the program ends.
const decisionLogTime = time.Second

// standard reports a folder that is no path.
func (d decisionLogConfig) standard() bool { return d.Folder == "" || d.Folder == decisionLogOff }

func (c *checker) decisionLog(stateFolder string) decisionLogSettings {
	d := c.l.DecisionLog
	s := decisionLogSettings{
		maxBytes: int64(c.between("decision_log.max_megabytes", d.MaxMegabytes, 1, maxLogMegabytes)) << 20,
		maxAge:   time.Duration(c.between("decision_log.max_days", d.MaxDays, 1, maxLogDays)) * 24 * time.Hour,
	}
	switch {
	case d.Folder == decisionLogOff:
	case d.Folder != "":
		s.folder = filepath.Clean(c.env.expand(d.Folder))
	case stateFolder != "":
		s.folder = filepath.Join(stateFolder, "decisions")
	}
	return s
}

// keepDecisions returns settings whose policies write their decisions down, and
// what closes the log at the end. A log that cannot be opened is told and left
// out: it decides nothing.
func (s *settings) keepDecisions(logger *slog.Logger) (kept *settings, closeLog func()) {
	if s.decisionLog.folder == "" {
		return s, func() {}
	}
	log, err := decisionlog.Open(decisionlog.Options{
		Folder: s.decisionLog.folder, MaxBytes: s.decisionLog.maxBytes, MaxAge: s.decisionLog.maxAge,
		ID: cmp.Or(s.server, serverID), Version: readVersion().Version, Logger: logger, Scanner: s.redaction.scanner,
	})
	if err != nil {
		logger.Error("decisions are not written down", "error", err)
		return s, func() {}
	}
	with := *s
	with.decisions = log
	return &with, sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), decisionLogTime)
		defer cancel()
		if err := log.Close(ctx); err != nil {
			logger.Error("decision log", "error", err)
		}
	})
}
