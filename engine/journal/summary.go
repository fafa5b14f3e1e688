package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// summary is what the ends of a session's segments tell.
type summary struct {
	record   event.SessionRecord
	next     int64
	segments []segment // at least one
	tail     tail      // of the last
	size     int64     // of the last
}

// summarize reads the ends of a session's segments until it finds its record.
func (j *Journal) summarize(id string, strict bool) (s *summary, err error) {
	for range viewTries {
		if s, err = j.summarizeOnce(id, strict); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, missing(err)
}

func (j *Journal) summarizeOnce(id string, strict bool) (*summary, error) {
	list, err := j.segments(id)
	if err != nil {
		return nil, err
	}
	s := &summary{segments: list}
	for i := len(list) - 1; i >= 0; i-- {
		t, size, err := j.tailOf(id, list[i], strict)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", list[i].name(), err)
		}
		if i == len(list)-1 {
			s.tail, s.size, s.next = t, size, t.next+t.spoilt
		}
		if t.found {
			s.record = t.record
			return s, s.belongs(id)
		}
	}
	return nil, event.ErrNotStored // nothing of it can be read, or it is just being made
}

// belongs refuses a folder that was given another name.
func (s *summary) belongs(id string) error {
	if s.record.ID != id {
		return fmt.Errorf("%w: its folder holds session %q", event.ErrNotStored, s.record.ID)
	}
	return nil
}

func (j *Journal) tailOf(id string, s segment, strict bool) (tail, int64, error) {
	f, size, err := j.openFile(id, s, os.O_RDONLY)
	if err != nil {
		return tail{}, 0, err
	}
	defer f.Close()
	t, err := readTail(f, size, s.first, strict)
	return t, size, err
}

// Session returns what is known of a session, see [event.Store].
func (j *Journal) Session(id string) (event.SessionRecord, error) {
	r, err := j.session(id)
	if err != nil {
		return r, fmt.Errorf("journal: session %q: %w", id, err)
	}
	return r, nil
}

func (j *Journal) session(id string) (event.SessionRecord, error) {
	if h := j.writer(id); h != nil {
		return h.told()
	}
	s, live, err := j.summary(id)
	if err != nil {
		return event.SessionRecord{}, err
	}
	r := s.record
	r.Next, r.Live = s.next, live
	return r, nil
}

// writer returns this journal's own history of a session, nil where it has none.
func (j *Journal) writer(id string) *history {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open[id]
}

// summaries remembers the summaries of sessions nobody writes, so that a list of
// ten thousand reads two names each. It is safe for concurrent use.
type summaries struct {
	mu    sync.Mutex
	known map[string]remembered
	bytes int
}

// maxRemembered bounds what summaries take in memory.
const maxRemembered = 32 << 20

// remembered is the summary of a session nobody wrote, for as long as its folder
// and its last file look as they did.
type remembered struct {
	*summary
	folder, file time.Time // last changes
	locked       bool      // a crash left its lock, which somebody may hold again
	bytes        int
}

// settled is how long ago a folder must have changed: file systems tell changes
// that follow each other closely by the same time.
const settled = 2 * time.Second

// summary is summarize, from memory where nothing changed; live: a writer has it
// open.
func (j *Journal) summary(id string) (s *summary, live bool, err error) {
	folder, err := j.check(id)
	if err != nil {
		return nil, false, err
	}
	if r, ok := j.unchanged(id, folder); ok {
		return r.summary, r.locked && j.live(id), nil
	}
	if s, err = j.summarize(id, false); err != nil {
		return nil, false, err
	}
	locked := j.locked(id)
	live = locked && j.live(id)
	last, err := j.lstat(id, s.last().name())
	if err == nil && last.Size() == s.size && time.Since(folder.ModTime()) > settled && !live {
		j.seen.put(id, remembered{summary: s, folder: folder.ModTime(), file: last.ModTime(), locked: locked})
	}
	return s, live, nil
}

func (s *summary) last() segment { return s.segments[len(s.segments)-1] }

// unchanged returns what is remembered of a session that is as it was.
func (j *Journal) unchanged(id string, folder fs.FileInfo) (remembered, bool) {
	r, ok := j.seen.get(id)
	if !ok || !r.folder.Equal(folder.ModTime()) {
		return r, false
	}
	last, err := j.lstat(id, r.last().name())
	return r, err == nil && last.Size() == r.size && last.ModTime().Equal(r.file)
}

func (c *summaries) get(id string) (remembered, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[id]
	return r, ok
}

func (c *summaries) put(id string, r remembered) {
	r.bytes = 512 + len(r.record.Engine) + len(r.record.Title) + len(r.record.Cwd) + 24*len(r.segments)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[string]remembered)
	}
	c.bytes += r.bytes - c.known[id].bytes
	c.known[id] = r
	for other, o := range c.known { // any will do
		if c.bytes <= maxRemembered {
			return
		}
		c.bytes -= o.bytes
		delete(c.known, other)
	}
}

func (c *summaries) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= c.known[id].bytes
	delete(c.known, id)
}
