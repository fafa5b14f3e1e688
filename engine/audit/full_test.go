package audit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// fullFile has room for so many bytes.
type fullFile struct {
	segmentFile
	room    *atomic.Int64 // of all files together, by the end of the last write
	noTrunc *atomic.Bool
	noSync  *atomic.Bool
}

func (f fullFile) WriteAt(p []byte, at int64) (int, error) {
	if room := f.room.Load(); at+int64(len(p)) > room {
		n, _ := f.segmentFile.WriteAt(p[:max(0, min(room-at, int64(len(p))))], at)
		return n, syscall.ENOSPC
	}
	return f.segmentFile.WriteAt(p, at)
}

func (f fullFile) Truncate(size int64) error {
	if f.noTrunc.Load() {
		return syscall.EIO
	}
	return f.segmentFile.Truncate(size)
}

func (f fullFile) Sync() error {
	if f.noSync.Load() {
		return syscall.EIO
	}
	return f.segmentFile.Sync()
}

type disk struct {
	room, half      atomic.Int64
	noTrunc, noSync atomic.Bool
	noFiles         atomic.Bool
}

func (d *disk) create(path string) (segmentFile, error) {
	if d.noFiles.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := openSegment(path)
	return fullFile{f, &d.room, &d.noTrunc, &d.noSync}, err
}

func newDisk() *disk {
	d := &disk{}
	d.room.Store(1 << 40)
	return d
}

// What cannot be written is an error, leaves no trace in the chain, and is told
// once there is room again.
func TestFullDisk(t *testing.T) {
	for name, break1 := range map[string]struct {
		fail, mend func(*disk)
		want       error
	}{
		"no byte fits":       {func(d *disk) { d.room.Store(0) }, func(d *disk) { d.room.Store(1 << 40) }, syscall.ENOSPC},
		"half a record fits": {func(d *disk) { d.room.Store(d.half.Load()) }, func(d *disk) { d.room.Store(1 << 40) }, syscall.ENOSPC},
		"it is not taken back either": {
			func(d *disk) { d.room.Store(d.half.Load()); d.noTrunc.Store(true) },
			func(d *disk) { d.room.Store(1 << 40); d.noTrunc.Store(false) }, syscall.ENOSPC,
		},
		"nothing gets to the disk": {func(d *disk) { d.noSync.Store(true) }, func(d *disk) { d.noSync.Store(false) }, syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			r, d := newRig(t), newDisk()
			r.create, r.every = d.create, 4
			l := r.open(t)
			record(t, l, decision("Bash", "before"))
			d.half.Store(l.writer.size + 300) // nothing is being written
			break1.fail(d)
			for range 3 {
				if err := l.Record(context.Background(), decision("Bash", "lost")); !errors.Is(err, break1.want) && !errors.Is(err, syscall.EIO) {
					t.Fatalf("error %v", err)
				}
			}
			l.Note(decision("Bash", "lost"))
			if err := l.Record(context.Background(), decision("Bash", "lost")); err == nil {
				t.Fatal("it was written")
			}
			break1.mend(d)
			record(t, l, decision("Bash", "after"))
			closeLog(t, l)
			all := r.records(t)
			if got := kinds(all); !strings.HasPrefix(got, "server_start checkpoint decision audit_gap decision") {
				t.Errorf("kinds: %s", got)
			}
			var g gap
			if err := json.Unmarshal(all[3].Detail, &g); err != nil || g.Records != 4 || g.Notes != 1 || g.Error == "" || g.Since.IsZero() {
				t.Errorf("gap: %s, %v", all[3].Detail, err)
			}
			if _, texts := r.read(t); strings.Contains(texts[0], "lost") {
				t.Errorf("%s", texts[0])
			}
			if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad != nil || !report.Closed || report.Torn != 0 {
				t.Errorf("%+v", report)
			}
		})
	}
}

// A next file that cannot be made leaves the last one whole.
func TestNoNextFile(t *testing.T) {
	r, d := newRig(t), newDisk()
	r.create, r.options.SegmentBytes = d.create, 1
	l := r.open(t)
	d.noFiles.Store(true)
	if err := l.Record(context.Background(), Record{Kind: Limit}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	d.noFiles.Store(false)
	record(t, l, Record{Kind: Limit})
	closeLog(t, l)
	if report := r.verified(t, VerifyOptions{}); report.Bad != nil || report.Segments < 3 || report.Last < 4 {
		t.Errorf("%+v", report)
	}
}

// A log that cannot begin does not open.
func TestFullFromTheStart(t *testing.T) {
	d := newDisk()
	d.room.Store(10)
	r := newRig(t)
	_, err := open(Options{Folder: r.folder(), Boot: r.boot}, d.create)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
}

// What another server saw before it was taken back is no sign of tampering.
func TestAnchorOfWhatWasTakenBack(t *testing.T) {
	r, d := newRig(t), newDisk()
	r.create = d.create
	l := r.open(t)
	d.noSync.Store(true)
	if l.Record(context.Background(), decision("Bash", "seen")) == nil {
		t.Fatal("it was written")
	}
	d.noSync.Store(false)
	record(t, l, decision("Bash", "in its place"))
	closeLog(t, l)
	source := Source{Boot: r.boot, Folder: r.folder()}
	for _, test := range []struct {
		live bool
		seq  int64
		good bool
	}{{true, 2, true}, {false, 2, false}, {true, 3, false}, {true, 1, false}} {
		report, err := verifyLog(source, []anchor{{test.seq, zeroHash, "somebody", test.live}}, VerifyOptions{})
		if err != nil || (report.Bad == nil) != test.good {
			t.Errorf("%+v: %v, %v", test, report.Bad, err)
		}
	}
}
