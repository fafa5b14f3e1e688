package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/gatehouse-mcp/gatehouse/internal/private"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Bounds of the cache.
const (
	MaxCached     = 64        // modules; the ones that were made first go
	maxCachedFile = 512 << 20 // bytes of the native code of one
)

// The cache is a folder with one folder for each module, by the digest of what is
// compiled, in which the runtime keeps native code:
//
//	CacheDir/<sha256 of the prepared module and the platform>/sum
//	CacheDir/<…>/wazero-<version>-<arch>-<os>/<key>
//
// The runtime runs what it finds there and guards it with a CRC of the code alone:
// a flipped bit elsewhere ends in an error, or in an allocation of any size. So sum
// holds the SHA-256 of the file, and what does not match is made again. That finds
// what broke; against whoever can write to the folder nothing helps, which is why
// there is no cache unless it is asked for.
type cached struct{ folder string }

const sumFile = "sum"

// checkCache looks at the folder, and makes it where it is missing.
func checkCache(dir string) error {
	switch {
	case dir == "":
		return nil
	case !filepath.IsAbs(dir):
		return fmt.Errorf("cache of plugins %q: want an absolute path", dir)
	}
	if _, err := os.Lstat(dir); err == nil {
		if err := private.Check(dir); err != nil { // not repaired: who could write there has
			return fmt.Errorf("cache of plugins: it holds native code that is run: %w", err)
		}
		return nil
	}
	if err := private.Folder(dir); err != nil {
		return fmt.Errorf("cache of plugins: %w", err)
	}
	return nil
}

// compileCached compiles a module, or takes its native code from the cache.
func compileCached(ctx context.Context, wasm []byte, memory int64, dir string, log *slog.Logger) (*code, error) {
	if dir == "" {
		return compile(ctx, wasm, memory, nil)
	}
	c := newCached(dir, wasm)
	if sound, err := c.sound(); !sound {
		if err != nil {
			log.Warn("an entry of the cache of plugins is made again", "error", err)
		}
		return c.make(ctx, wasm, memory, log)
	}
	out, err := c.compile(ctx, wasm, memory)
	if err != nil {
		log.Warn("an entry of the cache of plugins is made again", "error", fault(err))
		return c.make(ctx, wasm, memory, log)
	}
	return out, nil
}

func newCached(dir string, wasm []byte) cached {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", runtime.GOOS, runtime.GOARCH)
	h.Write(wasm)
	return cached{filepath.Join(dir, hex.EncodeToString(h.Sum(nil)))}
}

func (c cached) compile(ctx context.Context, wasm []byte, memory int64) (*code, error) {
	cache, err := wazero.NewCompilationCacheWithDir(c.folder)
	if err != nil {
		return nil, err
	}
	return compile(ctx, wasm, memory, cache)
}

// make compiles into a new entry. Without one, as the disk is full, it compiles all
// the same.
func (c cached) make(ctx context.Context, wasm []byte, memory int64, log *slog.Logger) (*code, error) {
	fresh, err := c.beside()
	if err == nil {
		defer os.RemoveAll(fresh.folder) // not there any more when it was kept
		var out *code
		if out, err = fresh.compile(ctx, wasm, memory); err == nil {
			if err := fresh.keep(c); err != nil {
				log.Warn("an entry of the cache of plugins was not kept", "error", err)
			}
			return out, nil
		}
	}
	log.Warn("the cache of plugins is not used", "error", fault(err))
	return compile(ctx, wasm, memory, nil)
}

// beside makes a folder for an entry that is not whole yet: several servers may begin
// at once.
func (c cached) beside() (cached, error) {
	if err := prune(filepath.Dir(c.folder)); err != nil {
		return cached{}, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(c.folder), filepath.Base(c.folder)+".*")
	return cached{folder}, err
}

// keep puts a whole entry in its place, unless another server was quicker.
func (c cached) keep(place cached) error {
	if err := c.seal(); err != nil {
		return err
	}
	err := os.Rename(c.folder, place.folder)
	if err == nil {
		return nil
	}
	if sound, _ := place.sound(); sound {
		return nil
	}
	if gone := os.RemoveAll(place.folder); gone != nil {
		return errors.Join(err, gone)
	}
	return os.Rename(c.folder, place.folder)
}

// entry is the file of native code; "" when there is none.
func (c cached) entry() (string, error) {
	var found []string
	versions, err := os.ReadDir(c.folder) // not a pattern: the folder's name may hold any characters
	for _, v := range versions {
		if !strings.HasPrefix(v.Name(), "wazero-") {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.folder, v.Name()))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			found = append(found, filepath.Join(c.folder, v.Name(), f.Name()))
		}
	}
	if err != nil || len(found) == 0 {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s: holds %d files, want one", c.folder, len(found))
	}
	return found[0], nil
}

func (c cached) sum() (string, error) {
	name, err := c.entry()
	if name == "" {
		return "", err
	}
	raw, err := regular.Read(name, maxCachedFile)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return filepath.Base(name) + " " + hex.EncodeToString(sum[:]), nil
}

func (c cached) seal() error {
	sum, err := c.sum()
	if err != nil {
		return err
	}
	return regular.Replace(filepath.Join(c.folder, sumFile), []byte(sum))
}

// sound says whether the entry is there and as it was made. An error says what is
// wrong with one that is there.
func (c cached) sound() (bool, error) {
	info, err := os.Lstat(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := private.CheckInfo(c.folder, info); err != nil {
		return false, err
	}
	want, err := regular.Read(filepath.Join(c.folder, sumFile), 1<<10)
	if err != nil {
		return false, err
	}
	got, err := c.sum()
	if err == nil && (got == "" || got != string(want)) {
		err = fmt.Errorf("%s: is not as it was made", c.folder)
	}
	return err == nil, err
}

// prune makes room for one entry.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type aged struct {
		path string
		made time.Time
	}
	var all []aged
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".") // after the dot: one that was not made to its end
		if info, err := e.Info(); err == nil && len(name) == 2*sha256.Size && strings.Trim(name, "0123456789abcdef") == "" {
			all = append(all, aged{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return a.made.Compare(b.made) })
	for len(all) >= MaxCached {
		if err := os.RemoveAll(all[0].path); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}
