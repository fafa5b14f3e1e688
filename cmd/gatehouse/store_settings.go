package main

import (
	"errors"
	"path/filepath"
	"time"
)

// storeConfig says where sessions are kept, and for how long.
type storeConfig struct {
	Dir              string `toml:"dir"` // empty: below the state folder; "off": in memory alone
	MaxMegabytes     int    `toml:"max_megabytes"`
	MaxDays          int    `toml:"max_days"`
	SessionMegabytes int    `toml:"session_megabytes"`
}

// journalName is the folder of sessions in the state folder.
const journalName = "journal"

// storeSettings are those of the store after they were checked.
type storeSettings struct {
	off          bool
	dir          string // empty: off, or there is no state folder
	maxBytes     int64
	maxAge       time.Duration
	sessionBytes int64
}

// storeOff is the folder's name for no store at all.
const storeOff = "off"

// Bounds of the store.
const (
	maxStoreMegabytes = 1 << 20
	maxStoreDays      = 3650
)

func defaultStore() storeConfig {
	return storeConfig{MaxMegabytes: 512, MaxDays: 30, SessionMegabytes: 64}
}

// standard reports a folder that is no path.
func (s storeConfig) standard() bool { return s.Dir == "" || s.Dir == storeOff }

func (c *checker) store(stateFolder string) storeSettings {
	d := c.l.Store
	s := storeSettings{
		off:          d.Dir == storeOff,
		maxBytes:     int64(c.between("store.max_megabytes", d.MaxMegabytes, 1, maxStoreMegabytes)) << 20,
		maxAge:       time.Duration(c.between("store.max_days", d.MaxDays, 1, maxStoreDays)) * 24 * time.Hour,
		sessionBytes: int64(c.between("store.session_megabytes", d.SessionMegabytes, 1, maxStoreMegabytes)) << 20,
	}
	if d.SessionMegabytes > d.MaxMegabytes {
		c.fail("store.session_megabytes", "%d is more than all sessions together may have, store.max_megabytes = %d", d.SessionMegabytes, d.MaxMegabytes)
	}
	if !s.off {
		s.dir = c.placed("store.dir", d.Dir, stateFolder, journalName)
	}
	return s
}

// placed is the folder a key names, or else the one of that name below the state
// folder; empty where there is none.
func (c *checker) placed(key, dir, stateFolder, name string) string {
	if dir == "" {
		if stateFolder == "" {
			return ""
		}
		return filepath.Join(stateFolder, name)
	}
	path := filepath.Clean(c.env.expand(dir))
	if !filepath.IsAbs(path) {
		c.fail(key, "%q must be absolute or begin with ~/", dir)
	}
	return path
}

var errHomeless = errors.New(`there is no place to keep sessions and the audit log: neither a home folder nor XDG_STATE_HOME is set; set one of them, or name folders as [store] dir and [audit] dir, or switch both off ([store] dir = "off", [audit] mode = "off")`)

// homeless refuses a start that has no place for what it has to keep.
func (s *settings) homeless() error {
	if s.stateFolder == "" && (!s.store.off && s.store.dir == "" || !s.audit.off && s.audit.dir == "") {
		return errHomeless
	}
	return nil
}
