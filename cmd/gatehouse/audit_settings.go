package main

import (
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
)

// auditConfig says where and how the audit log is kept.
type auditConfig struct {
	Mode         string `toml:"mode"` // "strict": what cannot be recorded does not happen; "off"
	Dir          string `toml:"dir"`  // empty: in the folder of each server; else a folder with one for each server
	Key          string `toml:"key"`  // file of the key that signs checkpoints; empty: keys/audit.pem where the logs are
	Durable      bool   `toml:"durable"`
	Excerpts     bool   `toml:"excerpts"` // show the beginning of inputs, redacted
	MaxMegabytes int    `toml:"max_megabytes"`
	MaxDays      int    `toml:"max_days"`
}

// auditSettings are those of the audit log after they were checked.
type auditSettings struct {
	off      bool
	dir      string // absolute; empty: in the folder of each server
	key      string // absolute; empty: keys/audit.pem where the logs are
	durable  bool
	excerpts bool
	maxBytes int64
	maxAge   time.Duration
}

// The values of audit.mode.
const (
	auditStrict = "strict"
	auditOff    = "off"
)

// Bounds of the audit log's retention.
const (
	maxAuditMegabytes = 1 << 20
	maxAuditDays      = 3650
)

func defaultAudit() auditConfig {
	return auditConfig{Mode: auditStrict, Durable: true, Excerpts: true, MaxMegabytes: 1024, MaxDays: 400}
}

func (c *checker) audit() auditSettings {
	a := c.l.Audit
	s := auditSettings{
		off:      c.oneOf("audit.mode", a.Mode, []string{auditStrict, auditOff}) == auditOff,
		durable:  a.Durable,
		excerpts: a.Excerpts,
		maxBytes: int64(c.between("audit.max_megabytes", a.MaxMegabytes, 1, maxAuditMegabytes)) << 20,
		maxAge:   time.Duration(c.between("audit.max_days", a.MaxDays, 1, maxAuditDays)) * 24 * time.Hour,
	}
	if a.Dir != "" {
		s.dir = c.placed("audit.dir", a.Dir, "", "")
	}
	if a.Key != "" {
		s.key = c.placed("audit.key", a.Key, "", "")
	}
	return s
}

// auditRoot is the folder that holds the logs of all servers; empty: none is kept,
// or there is no place for it.
func (s *settings) auditRoot() string {
	switch {
	case s.audit.off:
		return ""
	case s.audit.dir != "":
		return s.audit.dir
	}
	return s.stateFolder
}

// auditOptions are what the log of one server is opened with. The keys are those
// of all servers, so that one public key verifies every log, and equal inputs can be
// found in all of them.
func (s *settings) auditOptions(server string) (o audit.Options, err error) {
	root := s.auditRoot()
	o = audit.Options{
		Folder: audit.Folder(root, server), Boot: server, Version: readVersion().Version, NoSync: !s.audit.durable, NoExcerpts: !s.audit.excerpts,
		Retention: audit.Retention{Root: root, MaxBytes: s.audit.maxBytes, MaxAge: s.audit.maxAge},
	}
	if s.audit.key != "" {
		o.Key, err = audit.ReadKey(s.audit.key) // one that was named is not made: a slip would go unseen
	} else {
		o.Key, err = audit.MakeKey(auditKeyIn(root))
	}
	if err == nil {
		o.InputKey, err = audit.InputKey(inputKeyIn(root))
	}
	return o, err
}
