package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// Names in the folder of a log, and of the folders above it.
const (
	lockName     = "lock"
	inputKeyName = "input.key"
	serversName  = "servers"
	logName      = "audit"
)

// neverStale is for locks that are held for a server's life, where locks are files.
const neverStale = 10 * 365 * 24 * time.Hour

func inFolder(folder, name string) string { return filepath.Join(folder, name) }

// Folder is where the log of a server lies below a root.
func Folder(root, server string) string { return filepath.Join(Servers(root), server, logName) }

// Servers is the folder of all logs below a root.
func Servers(root string) string { return filepath.Join(root, serversName) }

// claim makes the folder of a new log and locks it until unlock.
func claim(folder string) (unlock func(), err error) {
	if err := private.Folder(folder); err != nil {
		return nil, err
	}
	if unlock, err = filelock.Take(inFolder(folder, lockName), neverStale); err != nil {
		return nil, err
	}
	old, err := segments(folder)
	if err == nil && len(old) > 0 {
		err = errors.New("it holds a log already; every server begins its own")
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// running reports whether the server of a log still writes it.
func running(folder string) bool {
	return filelock.Held(inFolder(folder, lockName))
}

// segmentFile is what a writer needs of a file.
type segmentFile interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return syncData(f.File) }

// openSegment makes a file that was not there.
func openSegment(path string) (segmentFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private.FileMode)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// syncFolder makes the names in a folder durable, where a system can do that.
func syncFolder(folder string) {
	if d, err := os.Open(folder); err == nil {
		_ = d.Sync() // not every file system has it
		d.Close()
	}
}

func segmentName(seq int64) string { return fmt.Sprintf("%010d.jsonl", seq) }

var segmentForm = regexp.MustCompile(`^(\d{10}|[1-9]\d{10,17})\.jsonl$`)

// segment is one file of a log.
type segment struct {
	name     string
	first    int64 // number of its first record, by its name
	size     int64
	modified time.Time
}

// segments lists the files of a log in their order. A folder that is not there
// has none.
func segments(folder string) ([]segment, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || notFolder(err) {
		return nil, nil
	}
	var all []segment
	for _, e := range entries {
		m := segmentForm.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		first, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, segment{name: e.Name(), first: first, size: info.Size(), modified: info.ModTime()})
	}
	slices.SortFunc(all, func(a, b segment) int { return int(min(max(a.first-b.first, -1), 1)) })
	return all, err
}

// notFolder: a file stands where the folder of a log, or one above it, would be.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// Source is one server's log.
type Source struct {
	Boot   string // the server's id: the name of its folder
	Folder string
}

// Logs lists the logs below root, those of dead servers included, by the servers'
// ids, which sort by age. Folders without a log are left out.
func Logs(root string) ([]Source, error) {
	all, err := folders(root)
	var logs []Source
	for _, s := range all {
		parts, err := segments(s.Folder)
		if err != nil {
			return nil, fmt.Errorf("audit logs: %w", err)
		}
		if len(parts) > 0 {
			logs = append(logs, s)
		}
	}
	return logs, err
}

// folders lists where logs may be below root, as [Logs] does, by name alone.
func folders(root string) ([]Source, error) {
	entries, err := os.ReadDir(Servers(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit logs: %w", err)
	}
	var all []Source
	for _, e := range entries {
		if e.IsDir() && bootForm.MatchString(e.Name()) { // a link could lead to logs of others
			all = append(all, Source{Boot: e.Name(), Folder: Folder(root, e.Name())})
		}
	}
	return all, nil
}
