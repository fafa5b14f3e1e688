package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecordsAreChained(t *testing.T) {
	r := newRig(t)
	r.options.SegmentBytes, r.options.Version, r.every = 3000, "1.2.3", 5
	l := r.open(t)
	ctx := context.Background()
	if err := errors.Join(l.SetConfig(ctx, "c1"), l.SetPolicy(ctx, "r0", "d0"), l.SetPolicy(ctx, "r1", "d1")); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		record(t, l, decision("Bash", "git push && true"))
	}
	l.Note(Record{Kind: SessionEnd, Session: "5e55-1"})
	closeLog(t, l)

	all := r.records(t)
	if got := kinds(all); !strings.HasPrefix(got, "server_start checkpoint config_load policy_load policy_load decision decision checkpoint decision") || !strings.HasSuffix(got, "session_end server_stop checkpoint") {
		t.Errorf("kinds: %s", got)
	}
	prev := zeroHash
	for i, one := range all {
		if one.Seq != int64(i) || one.Boot != r.boot || one.Prev != prev || one.Time.Location() != time.UTC {
			t.Errorf("record %d: %+v", i, one)
		}
		prev = one.Hash
	}
	d := all[5]
	mac := hmac.New(sha256.New, bytes.Repeat([]byte{1}, 32))
	mac.Write([]byte(`{"command":"git push && true"}`))
	if d.Input.HMAC != hex.EncodeToString(mac.Sum(nil)) || d.Input.Bytes != 30 || d.ConfigDigest != "c1" || d.Policy.Digest != "d1" {
		t.Errorf("decision: %+v %+v", d, d.Input)
	}
	if got := string(all[4].Detail); got != `{"old":"d0","new":"d1","old_revision":"r0","revision":"r1"}` {
		t.Errorf("policy_load: %s", got)
	}
	if !strings.Contains(string(all[0].Detail), `"version":"1.2.3"`) {
		t.Errorf("server_start: %s", all[0].Detail)
	}
	files, texts := r.read(t)
	if len(files) < 3 || !strings.Contains(texts[0], `git push && true`) {
		t.Errorf("files %v", files)
	}
	report := r.verified(t, VerifyOptions{Keys: r.keys()})
	if report.Bad != nil || !report.Closed || report.Live || report.SignedTo != report.Last-1 || report.Last != int64(len(all)-1) || len(report.Notes) > 0 {
		t.Errorf("report %+v", report)
	}
}

// The recipe of docs/audit.md: prev, and the line without its h.
func TestHashOfALine(t *testing.T) {
	r := newRig(t)
	closeLog(t, r.open(t))
	_, texts := r.read(t)
	line, _, _ := strings.Cut(texts[0], "\n")
	open, hash, _ := strings.Cut(line, `,"h":"`)
	sum := sha256.Sum256([]byte(zeroHash + open + "}"))
	if hex.EncodeToString(sum[:])+`"}` != hash {
		t.Errorf("%s", line)
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	r := newRig(t)
	r.options.InputKey = nil
	l, err := Open(Options{Folder: r.folder(), Boot: r.boot})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Folder: r.folder(), Boot: r.boot}); err == nil {
		t.Error("two servers have one log")
	}
	closeLog(t, l)
	if _, err := Open(Options{Folder: r.folder(), Boot: r.boot}); err == nil || !strings.Contains(err.Error(), "holds a log already") {
		t.Errorf("a second server: %v", err)
	}
	entries, err := os.ReadDir(r.folder())
	if err != nil || len(entries) != 2 { // a segment, the key of inputs
		t.Errorf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(r.folder()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"a boot that is a path":  {Folder: t.TempDir(), Boot: "../x"},
		"a folder that is none":  {Folder: file, Boot: "a"},
		"a folder below a file":  {Folder: filepath.Join(file, "x"), Boot: "a"},
		"no boot":                {Folder: t.TempDir()},
		"a boot with a newline":  {Folder: t.TempDir(), Boot: "a\n"},
		"a boot with a quote in": {Folder: t.TempDir(), Boot: `a"b`},
	} {
		if l, err := Open(o); err == nil {
			closeLog(t, l)
			t.Errorf("%s was taken", name)
		}
	}
}

// slowFile waits for leave to write.
type slowFile struct {
	segmentFile
	leave chan struct{}
	syncs *int
}

func (f slowFile) WriteAt(p []byte, at int64) (int, error) {
	<-f.leave
	return f.segmentFile.WriteAt(p, at)
}

func (f slowFile) Sync() error { *f.syncs++; return f.segmentFile.Sync() }

func TestGroupCommit(t *testing.T) {
	r := newRig(t)
	leave, syncs := make(chan struct{}, 1), 0
	leave <- struct{}{}
	r.create = func(path string) (segmentFile, error) {
		f, err := openSegment(path)
		return slowFile{f, leave, &syncs}, err
	}
	l := r.open(t)
	var group sync.WaitGroup
	one := func() {
		if err := l.Record(context.Background(), decision("Bash", "ls")); err != nil {
			t.Error(err)
		}
	}
	group.Go(one)
	for l.queuedBytes.Load() == 0 || len(l.queue) > 0 { // until the writer has taken it
		time.Sleep(time.Millisecond)
	}
	for range 299 {
		group.Go(one)
	}
	for len(l.queue) < 298 { // the writer may have been quick enough for one more
		time.Sleep(time.Millisecond)
	}
	close(leave)
	group.Wait()
	closeLog(t, l)
	if syncs > 6 { // the first record, one, all others, the end
		t.Errorf("%d syncs for 300 records that waited together", syncs)
	}
	if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad != nil || report.Last < 300 {
		t.Errorf("%+v", report)
	}
}

// A writer that hangs holds up nobody for longer than they wait.
func TestContextEndsTheWait(t *testing.T) {
	r := newRig(t)
	leave, syncs := make(chan struct{}, 1), 0
	leave <- struct{}{}
	r.create = func(path string) (segmentFile, error) {
		f, err := openSegment(path)
		return slowFile{f, leave, &syncs}, err
	}
	l := r.open(t)
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if err := l.Record(ctx, Record{Kind: Limit}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		cancel()
	}
	for range maxQueued + 10 {
		l.Note(Record{Kind: Redaction})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	if err := l.Record(ctx, Record{Kind: Limit}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v", err)
	}
	if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	cancel()
	close(leave)
	closeLog(t, l)
	closeLog(t, l)
	if err := l.Record(context.Background(), Record{Kind: Limit}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	all := r.records(t)
	notes, lost := 0, int64(0)
	for _, one := range all {
		switch one.Kind {
		case Redaction:
			notes++
		case Gap:
			var g gap
			if err := json.Unmarshal(one.Detail, &g); err != nil {
				t.Error(err)
			}
			lost += g.Notes
		}
	}
	if lost == 0 || int64(notes)+lost != maxQueued+10 {
		t.Errorf("%d notes are there, %d are told to be lost", notes, lost)
	}
	if report := r.verified(t, VerifyOptions{}); report.Bad != nil {
		t.Error(report.Bad)
	}
}

func TestCheckpointTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		l := r.open(t)
		count := func() (n int) {
			synctest.Wait()
			for _, one := range r.records(t) {
				if one.Kind == Checkpoint {
					n++
				}
			}
			return n
		}
		if n := count(); n != 1 {
			t.Errorf("%d checkpoints over the first record", n)
		}
		record(t, l, Record{Kind: Limit})
		time.Sleep(checkpointAfter - time.Nanosecond)
		if n := count(); n != 1 {
			t.Errorf("%d checkpoints too early", n)
		}
		time.Sleep(time.Nanosecond)
		if n := count(); n != 2 {
			t.Errorf("%d checkpoints in time", n)
		}
		time.Sleep(10 * checkpointAfter)
		if n := count(); n != 2 {
			t.Errorf("%d checkpoints without anything new", n)
		}
		record(t, l, Record{Kind: Limit})
		time.Sleep(checkpointAfter / 2)
		record(t, l, Record{Kind: Limit})
		time.Sleep(checkpointAfter / 2)
		if n := count(); n != 3 {
			t.Errorf("%d checkpoints after two records", n)
		}
		closeLog(t, l)
		if n := count(); n != 4 {
			t.Errorf("%d checkpoints at the end", n)
		}
	})
}

func TestUnsignedLog(t *testing.T) {
	r := newRig(t)
	key := r.key
	r.key = nil
	closeLog(t, r.open(t))
	report := r.verified(t, VerifyOptions{})
	if report.Bad != nil || report.KeyID != "" || report.SignedTo != -1 || report.Checkpoints != 2 {
		t.Errorf("%+v", report)
	}
	r.key = key
	if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad == nil || report.Bad.Kind != BadSignature {
		t.Errorf("with a key: %+v", report)
	}
}
