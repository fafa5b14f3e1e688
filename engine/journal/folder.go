package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

const lockName = "lock"

// lockStale is for systems whose locks are files. Windows does not remove a file
// that is open, so there one that can be removed is a crash's.
var lockStale = func() time.Duration {
	if runtime.GOOS == "windows" {
		return -1
	}
	return 10 * 365 * 24 * time.Hour
}()

var (
	// Lower case only: two spellings of an id must not mean one folder on a file
	// system that does not tell them apart.
	idForm      = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	segmentForm = regexp.MustCompile(`^(\d{8})-(\d{12,18})\.jsonl$`)
)

// segment is one file of a session.
type segment struct {
	number int
	first  int64 // id that its first event has, or would have had
}

func (s segment) name() string { return fmt.Sprintf("%08d-%012d.jsonl", s.number, s.first) }

// maxSegments bounds how many files of one session are looked at.
const maxSegments = 1 << 16

func (j *Journal) path(id, name string) string { return filepath.Join(j.o.Folder, id, name) }

// check refuses what is no session's folder, or not ours alone. It returns what
// the folder is like.
func (j *Journal) check(id string) (fs.FileInfo, error) {
	if !idForm.MatchString(id) {
		return nil, fmt.Errorf("%w: its id is no UUID in lower case", event.ErrNotStored)
	}
	path := filepath.Join(j.o.Folder, id)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, missing(err)
	}
	return info, private.CheckInfo(path, info)
}

// makeFolder is check for a session that is new.
func (j *Journal) makeFolder(id string) error {
	if !idForm.MatchString(id) {
		return errors.New("its id must be a UUID in lower case")
	}
	if err := j.root.Mkdir(id, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, err := j.check(id)
	return err
}

// lstat looks at a name in a session's folder, which is checked.
func (j *Journal) lstat(id, name string) (fs.FileInfo, error) {
	return os.Lstat(filepath.Join(j.o.Folder, id, name))
}

// segments lists a session's files, oldest first.
func (j *Journal) segments(id string) ([]segment, error) {
	dir, err := j.root.Open(id)
	if err != nil {
		return nil, missing(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxSegments)
	if len(names) == 0 {
		return nil, nil // or io.EOF, which means the same
	}
	if err != nil {
		return nil, err
	}
	var list []segment
	for _, name := range names {
		if s, ok := parseSegment(name); ok {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b segment) int { return a.number - b.number })
	return ascending(list), nil
}

// ascending leaves out what goes back in ids: nobody wrote it so.
func ascending(list []segment) []segment {
	highest := int64(0)
	return slices.DeleteFunc(list, func(s segment) bool {
		back := s.first < highest
		highest = max(highest, s.first)
		return back
	})
}

func parseSegment(name string) (s segment, ok bool) {
	m := segmentForm.FindStringSubmatch(name)
	if m == nil {
		return s, false
	}
	s.number, _ = strconv.Atoi(m[1])
	s.first, _ = strconv.ParseInt(m[2], 10, 64)
	return s, s.name() == name
}

// missing makes a file that is not there a session that is not.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return event.ErrNotStored
	}
	return err
}

// openFile opens a file of a session, and refuses what is no file of ours alone.
func (j *Journal) openFile(id string, s segment, flag int) (*os.File, int64, error) {
	name := id + "/" + s.name()
	named, err := j.lstat(id, s.name())
	if err != nil {
		return nil, 0, err
	}
	if err := private.File(j.path(id, s.name()), named); err != nil {
		return nil, 0, err
	}
	f, err := j.root.OpenFile(name, flag, private.FileMode)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(named, info) {
		err = fmt.Errorf("file %s: it was replaced while it was opened", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// live reports whether a writer has the session open.
func (j *Journal) live(id string) bool {
	if j.writes(id) {
		return true
	}
	return j.locked(id) && filelock.Held(j.path(id, lockName))
}

// locked reports whether a lock is there, which may be what a crash left. It is
// removed when the session is given back.
func (j *Journal) locked(id string) bool {
	_, err := j.lstat(id, lockName)
	return err == nil
}

// ids lists the sessions' folders.
func (j *Journal) ids() ([]string, error) {
	dir, err := j.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool { return !idForm.MatchString(name) })
	slices.SortFunc(names, strings.Compare)
	return names, err
}
