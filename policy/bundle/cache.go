package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// cache keeps the last bundle that was in force, for a start without a network.
// It is trusted no more than the network: what is read is verified again.
type cache struct {
	folder string // empty: nothing is kept
	name   string // of the files, without ending
}

// maxSerialText bounds the file of the serial, in bytes.
const maxSerialText = 32

func newCache(folder, url string) cache {
	sum := sha256.Sum256([]byte(url))
	return cache{folder: folder, name: hex.EncodeToString(sum[:8])}
}

func (c cache) path(ending string) string { return filepath.Join(c.folder, c.name+ending) }

// load returns the copy; no copy is no error.
func (c cache) load(k *Key, maxBytes int64) (*Bundle, error) {
	if c.folder == "" {
		return nil, nil
	}
	raw, err := regular.Read(c.path(".tar.gz"), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("copy of the bundle: %w", err)
	}
	b, err := Read(raw, k, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("copy of the bundle in %s: %w", c.path(".tar.gz"), err)
	}
	return b, nil
}

// serial returns the highest serial that was in force so far; none is 0.
func (c cache) serial() (int64, error) {
	if c.folder == "" {
		return 0, nil
	}
	text, err := regular.Read(c.path(".serial"), maxSerialText)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		var n int64
		if n, err = strconv.ParseInt(string(text), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("serial of the last bundle: %w", err)
}

// store replaces the copy, readable by the owner alone.
func (c cache) store(b *Bundle) error {
	if c.folder == "" {
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return fmt.Errorf("copy of the bundle: %w", err)
	}
	if err := regular.Replace(c.path(".tar.gz"), b.raw); err != nil {
		return fmt.Errorf("copy of the bundle: %w", err)
	}
	// Servers that share the folder: what another one has seen counts too.
	if last, err := c.serial(); err == nil && b.Serial <= last {
		return nil
	}
	if err := regular.Replace(c.path(".serial"), strconv.AppendInt(nil, b.Serial, 10)); err != nil {
		return fmt.Errorf("serial of the bundle: %w", err)
	}
	return nil
}
