package decisionlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Retention where the options do not say otherwise.
const (
	defaultMaxBytes = 64 << 20
	defaultMaxAge   = 30 * 24 * time.Hour
)

// maxFileBytes is the size after which a server begins its next file; with a
// smaller bound for the whole folder, a quarter of that.
const maxFileBytes = 16 << 20

// fileName is decisions-START-PID-NUMBER.jsonl: the server's start in UTC, its
// process, and the file's number from 1. Every server writes
// files of its own, so that two of them never share one, and none is renamed:
// who follows a file keeps it.
var fileName = regexp.MustCompile(`^decisions-\d{8}T\d{6}\.\d{3}Z-\d+-\d{4,}\.jsonl$`)

// files are one server's files in the folder of all.
type files struct {
	root     *os.Root // nothing outside of the folder is touched, whatever is linked there
	prefix   string
	number   int
	maxBytes int64
	maxFile  int64
	maxAge   time.Duration
	current  *os.File
	name     string
	size     int64
	torn     bool // the last write may have ended inside a line
	pruned   time.Time
}

func openFiles(folder string, maxBytes int64, maxAge time.Duration) (*files, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: not a folder", folder)
	case info.Mode().Perm()&0o022 != 0 && os.PathSeparator == '/':
		return nil, fmt.Errorf("%s: others may write to it (mode %04o); run chmod go-w on it", folder, info.Mode().Perm())
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	f := &files{
		root: root, maxBytes: maxBytes, maxAge: maxAge, maxFile: min(maxFileBytes, max(maxBytes/4, 1)),
		prefix: fmt.Sprintf("decisions-%s-%d", now.Format("20060102T150405.000Z"), os.Getpid()),
	}
	if err := f.next(); err != nil {
		root.Close()
		return nil, err
	}
	return f, nil
}

// maxNames bounds the search for a name that is free: another log of this
// process may have begun in the same millisecond.
const maxNames = 100

// next begins another file and makes room for it. A file is always new: nothing
// that somebody put there is ever written to, a link least of all.
func (f *files) next() error {
	if f.current != nil {
		f.current.Close()
		f.current = nil
	}
	for range maxNames {
		f.number++
		name := fmt.Sprintf("%s-%04d.jsonl", f.prefix, f.number)
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		f.current, f.name, f.size, f.torn = file, name, 0, false
		f.prune(time.Now())
		return nil
	}
	return fmt.Errorf("no free name for a file after %s", f.name)
}

// write appends whole lines, to a new file where the current one is full or is
// not there any more.
func (f *files) write(lines []byte) error {
	if f.current == nil || f.size > 0 && f.size+int64(len(lines)) > f.maxFile || !f.there() {
		if err := f.next(); err != nil {
			return err
		}
	}
	if f.torn { // so that what follows is a line of its own
		lines = append([]byte("\n"), lines...)
	}
	n, err := f.current.Write(lines)
	f.size += int64(n)
	f.torn = err != nil && (n > 0 || f.torn)
	return err
}

// there reports whether the current file still has its name: the retention of
// another server, or a person, may have removed it.
func (f *files) there() bool {
	named, err := f.root.Lstat(f.name)
	if err != nil {
		return false
	}
	open, err := f.current.Stat()
	return err == nil && os.SameFile(named, open)
}

// pruneEvery is how often a server looks for files that have become too old.
const pruneEvery = time.Hour

// pruneDue prunes when that is due.
func (f *files) pruneDue(now time.Time) {
	if now.Sub(f.pruned) >= pruneEvery {
		f.prune(now)
	}
}

// prune removes files that are too old, and then those that were written to the
// longest time ago, until the next full file has room. For room, the file that a
// running server writes stays. Trouble with one of them leaves it there.
func (f *files) prune(now time.Time) {
	f.pruned = now
	all, total := f.list()
	for _, one := range all {
		old, full := now.Sub(one.written) > f.maxAge, total+f.maxFile > f.maxBytes
		if one.name == f.name || !old && (!full || inUse(one, all)) {
			continue
		}
		if f.root.Remove(one.name) == nil {
			total -= one.size
		}
	}
}

// logFile is one file of any server.
type logFile struct {
	name    string
	written time.Time // last
	size    int64
}

// inUse reports the newest file of a process that runs. A process that came to
// have the number of one that ended keeps a file longer than it need be.
func inUse(one logFile, all []logFile) bool {
	stem := one.name[:strings.LastIndexByte(one.name, '-')+1]
	for _, other := range all {
		if strings.HasPrefix(other.name, stem) && longerOrLater(other.name, one.name) {
			return false
		}
	}
	parts := strings.Split(one.name, "-")
	pid, err := strconv.Atoi(parts[2])
	return err == nil && running(pid)
}

// longerOrLater compares the numbers of two names with the same stem, which are
// filled up with zeros to four digits only.
func longerOrLater(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// list returns the files of all servers, those that were not written to for the
// longest time first, and their size together.
func (f *files) list() (all []logFile, total int64) {
	folder, err := f.root.Open(".")
	if err != nil {
		return nil, 0
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(-1) // what could be read is what can be pruned
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && fileName.MatchString(e.Name()) {
			all, total = append(all, logFile{e.Name(), info.ModTime(), info.Size()}), total+info.Size()
		}
	}
	slices.SortFunc(all, func(a, b logFile) int {
		return cmp.Or(a.written.Compare(b.written), strings.Compare(a.name, b.name))
	})
	return all, total
}

func (f *files) close() {
	if f.current != nil {
		f.current.Close()
		if f.size == 0 { // a server that decided nothing leaves nothing
			f.root.Remove(f.name)
		}
	}
	f.root.Close()
}

// Files returns the paths of the decision logs in a folder, oldest first. A
// folder that is not there has none.
func Files(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".jsonl") {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}
