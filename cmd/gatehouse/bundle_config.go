package main

import (
	"path/filepath"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// maxKeyBytes bounds the file of a key.
const maxKeyBytes = 64 << 10

const bundleKeys = "policy.bundle."

// bundle checks [policy.bundle]; nil when none is configured. files are those it
// names, absolute.
func (c *checker) bundle() (o *bundle.Options, files []string) {
	b := c.l.Policy.Bundle
	if b.URL == "" && b.File == "" {
		if b.Key != "" {
			c.fail("policy.bundle.key", "names a key, but neither policy.bundle.url nor policy.bundle.file says what for")
		}
		return nil, nil
	}
	where := bundleKeys + "url"
	if b.URL == "" {
		where = bundleKeys + "file"
		files = c.readable(where, []string{b.File})
		b.File = files[0]
	}
	if c.notEmpty("policy.bundle.key", b.Key); c.err != nil {
		return nil, nil
	}
	keys := c.readable("policy.bundle.key", []string{b.Key})
	text, err := regular.Read(keys[0], maxKeyBytes)
	if err != nil {
		c.fail("policy.bundle.key", "%v", err)
	}
	o = &bundle.Options{
		File: b.File, URL: b.URL, Key: string(text), KeyID: b.KeyID, Algorithm: b.Algorithm, Scope: b.Scope,
		MaxBytes: int64(c.between("policy.bundle.max_bytes", b.MaxBytes, 1, bundle.MaxMaxBytes)),
		Interval: c.duration("policy.bundle.interval", b.Interval),
	}
	if folder := c.env.stateFolder(); folder != "" {
		o.CacheDir = filepath.Join(folder, "bundle")
	}
	if _, err := bundle.Open(*o); err != nil && c.err == nil {
		c.failBundle(where, strings.TrimPrefix(err.Error(), "bundle: "))
	}
	return o, append(files, keys[0])
}

// failBundle says what bundle.Open refused, by the key it is about.
func (c *checker) failBundle(where, message string) {
	if about, ok := strings.CutPrefix(message, "key: "); ok {
		where, message = bundleKeys+"key", about
	}
	c.fail(where, "%s", message)
}

// lockBundle keeps the user's file from replacing a bundle of the organisation's:
// its policies stay in force whatever that file lists.
func (l *loaded) lockBundle() {
	set := false
	for key := range l.at {
		set = set || strings.HasPrefix(key, bundleKeys)
	}
	for key := range knownKeys {
		if set && strings.HasPrefix(key, bundleKeys) {
			l.locked = append(l.locked, key)
		}
	}
}
