// Package watch finds out by looking that files have changed. It asks the system
// for no notifications: those miss what lies behind links, on network folders and
// in mounted configuration that is swapped as a whole.
package watch

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

const (
	maxFiles = 5000 // looked at
	// maxUnsettled looks may differ from each other until a change counts although
	// it has not come to rest: a file written all the time must not hold it up.
	maxUnsettled = 10
	// fresh is how young a file's time may be for its content to be read in any
	// case: another write within the same tick of the clock does not show.
	fresh = 2 * time.Second
	// fullEvery looks, all contents are read: a time can be set back.
	fullEvery = 30
)

// Files looks at files and tells when they have changed and come to rest. It is
// not safe for concurrent use. The zero value looks at nothing.
type Files struct {
	paths []string
	ext   string

	settled, last state
	seen          map[string]content
	looks, moving int
}

type state [sha256.Size]byte

type content struct {
	info   fs.FileInfo
	digest state
}

// Reset makes later looks compare with what is there now. Of a folder in paths
// the files ending in ext count, at any depth, without names that begin with a
// dot. A path that is not there counts too: it may come.
func (f *Files) Reset(paths []string, ext string) {
	f.paths, f.ext, f.moving = paths, ext, 0
	f.settled = f.look()
	f.last = f.settled
}

// Changed looks once. It reports true when the files differ from those of the
// last Reset, or of the last true, and are as they were one look before.
func (f *Files) Changed() bool {
	now := f.look()
	same := now == f.last
	f.last = now
	switch {
	case now == f.settled:
		f.moving = 0
		return false
	case !same && f.moving < maxUnsettled:
		f.moving++
		return false
	}
	f.settled, f.moving = now, 0
	return true
}

func (f *Files) look() state {
	f.looks++
	h := sha256.New()
	seen := make(map[string]content, len(f.seen))
	for _, root := range f.paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && path != root:
				return nil // gone since it was listed; the next look has it
			case err != nil:
				return err
			case path != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir() || path != root && filepath.Ext(path) != f.ext:
				return nil
			case len(seen) >= maxFiles:
				return fs.SkipAll
			}
			sum := f.file(path, seen)
			io.WriteString(h, path+"\x00")
			h.Write(sum[:])
			return nil
		})
		if err != nil {
			io.WriteString(h, root+"\x00"+reason(err))
		}
	}
	f.seen = seen
	return state(h.Sum(nil))
}

// file is the digest of one file, links followed.
func (f *Files) file(path string, seen map[string]content) state {
	info, err := os.Stat(path)
	if err != nil {
		return sha256.Sum256([]byte(reason(err)))
	}
	old, ok := f.seen[path]
	if ok && f.looks%fullEvery != 0 && unchanged(old.info, info) && time.Since(info.ModTime()) > fresh {
		seen[path] = content{info, old.digest}
		return old.digest
	}
	c := content{info, digest(path)}
	seen[path] = c
	return c.digest
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

func digest(path string) state {
	h := sha256.New()
	file, err := regular.Open(path)
	if err == nil {
		_, err = io.Copy(h, file)
		file.Close()
	}
	if err != nil {
		io.WriteString(h, reason(err))
	}
	return state(h.Sum(nil))
}

// reason is the kind of an error, without what may differ from look to look.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "\x00absent"
	case errors.Is(err, fs.ErrPermission):
		return "\x00forbidden"
	}
	return "\x00unreadable"
}
