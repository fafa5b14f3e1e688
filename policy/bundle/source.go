package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Options says where a bundle comes from and whose it must be.
type Options struct {
	File      string // one of File and URL
	URL       string // https; http on this machine only
	Key       string // text of the public key in PEM, or of the secret
	KeyID     string // empty: any
	Algorithm string // empty: RS256
	Scope     string
	MaxBytes  int64         // 0 = 8 MiB
	Interval  time.Duration // between looks at URL; 0 = 1 min
	CacheDir  string        // keeps the last bundle from URL that was in force; empty: none
}

// Times between looks at an address.
const (
	DefaultInterval = time.Minute
	maxBackOff      = 5 * time.Minute // after failures, unless the interval is longer
	maxDoublings    = 8
)

// Source is one place bundles come from. It is safe for concurrent use.
type Source struct {
	o     Options
	key   *Key
	fetch *fetcher // nil: a file
	cache cache

	mu       sync.Mutex
	newest   *Bundle // the last one that was verified
	good     *Bundle // the last one in force, here or in an earlier run
	serial   int64   // the highest one in force so far; 0: none had one
	failures int     // in a row
}

// Open checks the options; the error names what is wrong. It reads nothing.
func Open(o Options) (*Source, error) {
	o.MaxBytes, o.Interval = cmp.Or(o.MaxBytes, DefaultMaxBytes), cmp.Or(o.Interval, DefaultInterval)
	if (o.File == "") == (o.URL == "") {
		return nil, errors.New("bundle: want one of file and url")
	}
	if o.MaxBytes < 1 || o.MaxBytes > MaxMaxBytes {
		return nil, fmt.Errorf("bundle: max_bytes %d: want 1 to %d", o.MaxBytes, MaxMaxBytes)
	}
	s := &Source{o: o}
	var err error
	if s.key, err = NewKey(o.Key, o.Algorithm, o.KeyID, o.Scope); err != nil {
		return nil, fmt.Errorf("bundle: key: %w", err)
	}
	if o.URL != "" {
		s.cache = newCache(o.CacheDir, o.URL)
		if s.fetch, err = newFetcher(o.URL, o.MaxBytes); err != nil {
			return nil, fmt.Errorf("bundle: %w", err)
		}
	}
	return s, nil
}

// Options returns what the source was opened with, defaults filled in.
func (s *Source) Options() Options { return s.o }

// Remote reports whether the bundle comes over the network.
func (s *Source) Remote() bool { return s.fetch != nil }

// Recall verifies the copy of an earlier run, where there is one. Call it before
// the first Refresh.
func (s *Source) Recall() error {
	serial, unread := s.cache.serial()
	b, err := s.cache.load(s.key, s.o.MaxBytes)
	if b != nil && b.Serial < serial {
		b, err = nil, fmt.Errorf("copy of the bundle in %s: %w", s.cache.path(".tar.gz"), olderError{b.Serial, serial})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = serial
	if b != nil {
		s.good, s.serial = b, b.Serial
	}
	return errors.Join(unread, err)
}

// Refresh gets and verifies what is there now, and reports whether that is
// another bundle than the last one verified. After an error all stays as it was.
func (s *Source) Refresh(ctx context.Context) (changed bool, err error) {
	b, err := s.get(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failures++
		return false, fmt.Errorf("bundle: %w", err)
	}
	s.failures = 0
	if b.Serial < s.serial {
		return false, fmt.Errorf("bundle: %s: %w", s.place(), olderError{b.Serial, s.serial})
	}
	last := cmp.Or(s.newest, s.good)
	changed = s.newest == nil || b.Digest != last.Digest
	if changed || b.etag != last.etag {
		s.newest = b
	}
	return changed, nil
}

func (s *Source) get(ctx context.Context) (*Bundle, error) {
	if s.fetch == nil {
		raw, err := regular.Read(s.o.File, s.o.MaxBytes)
		if err != nil {
			return nil, err
		}
		b, err := Read(raw, s.key, s.o.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.o.File, err)
		}
		return b, nil
	}
	s.mu.Lock()
	last := s.newest // never the copy: whether that is the newest, a whole answer has to say once
	s.mu.Unlock()
	etag := ""
	if last != nil {
		etag = last.etag
	}
	raw, etag, err := s.fetch.get(ctx, etag)
	switch {
	case errors.Is(err, errUnchanged):
		return last, nil
	case err != nil:
		return nil, err
	}
	b, err := Read(raw, s.key, s.o.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.place(), err)
	}
	b.etag = etag
	return b, nil
}

// place is where bundles come from, as logs may show it.
func (s *Source) place() string {
	if s.fetch == nil {
		return s.o.File
	}
	return shown(s.fetch.url)
}

// olderError is why a bundle that verifies is not taken.
type olderError struct{ has, want int64 }

func (e olderError) Error() string {
	return fmt.Sprintf("metadata.serial %d (0: it has none) is below %d, that of the last bundle in force; give what is to be in force a higher one", e.has, e.want)
}

// Proven reports whether b is, byte for byte, the last bundle in force, here or
// in an earlier run.
func (s *Source) Proven(b *Bundle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.good != nil && s.good.Digest == b.Digest
}

// Candidates are the bundles to try, best first: the newest, then the last good
// one where that is another. None: nothing verified is there.
func (s *Source) Candidates() []*Bundle {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Bundle
	if s.newest != nil {
		all = append(all, s.newest)
	}
	if s.good != nil && (s.newest == nil || s.newest.Digest != s.good.Digest) {
		all = append(all, s.good)
	}
	return all
}

// InForce notes the bundle that decides now, and keeps a copy of one that came
// over the network. The error is of that copy alone.
func (s *Source) InForce(b *Bundle) error {
	s.mu.Lock()
	same := s.good != nil && s.good.Digest == b.Digest
	s.good, s.serial = b, max(s.serial, b.Serial)
	s.mu.Unlock()
	if same {
		return nil
	}
	return s.cache.store(b)
}

// Next is how long to wait before the next look: the interval, doubled for each
// failure in a row up to 5 min, and up to a tenth more, so that many servers do
// not all come at once.
func (s *Source) Next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.o.Interval
	for range min(s.failures, maxDoublings) {
		wait = min(2*wait, max(maxBackOff, s.o.Interval))
	}
	return wait + rand.N(wait/10+1)
}
