package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
)

// program is an executable as it stood on the disk at a session's start. Of a
// script it is the script, not what interprets it.
type program struct {
	size     int64
	modified time.Time
	cli      atomic.Pointer[audit.CLI] // replaced once, with the digest
}

// told is what records say of it; nil while nothing is known.
func (p *program) told() *audit.CLI {
	if p == nil {
		return nil
	}
	return p.cli.Load()
}

// maxPrograms bounds the executables whose digest is remembered.
const maxPrograms = 64

// programs are the executables seen so far, by path.
type programs struct {
	ctx  context.Context // ends the reading
	mu   sync.Mutex
	seen map[string]*program
}

// look returns a program. Its digest is made in the background when the file is
// new or was changed: it is a hundred megabytes and more, and nothing waits for it.
func (all *programs) look(path, version string) *program {
	info, err := os.Stat(path)
	if err != nil {
		p := &program{}
		p.cli.Store(&audit.CLI{Path: path, Version: version})
		return p // the start will say so
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if p := all.seen[path]; p != nil && p.size == info.Size() && p.modified.Equal(info.ModTime()) && p.told().Version == version {
		return p
	}
	p := &program{size: info.Size(), modified: info.ModTime()}
	p.cli.Store(&audit.CLI{Path: path, Version: version})
	if len(all.seen) >= maxPrograms || all.seen == nil {
		all.seen = make(map[string]*program)
	}
	all.seen[path] = p
	if info.Mode().IsRegular() {
		go p.read(all.ctx) // ends with the file or the engine
	}
	return p
}

// read adds the digest, unless the file is changed meanwhile.
func (p *program) read(ctx context.Context) {
	told := *p.told()
	f, err := os.Open(told.Path)
	if err != nil {
		return
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, untilEnd{ctx, f}); err != nil {
		return
	}
	if info, err := f.Stat(); err != nil || info.Size() != p.size || !info.ModTime().Equal(p.modified) {
		return
	}
	told.SHA256 = hex.EncodeToString(sum.Sum(nil))
	p.cli.Store(&told)
}

// untilEnd reads until a context ends.
type untilEnd struct {
	ctx context.Context
	r   io.Reader
}

func (u untilEnd) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
