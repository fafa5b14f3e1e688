package audit

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
)

// idleLogs makes the logs of servers that did nothing: copies of one, each under
// the name of its own server, as if all had been written a moment apart.
func idleLogs(t testing.TB, root string, n int) {
	t.Helper()
	one := newRig(t)
	key, input := one.key, bytes.Repeat([]byte{1}, 32)
	for i := range n {
		boot := fmt.Sprintf("2026%04dT000000Z-0000000a", i)
		folder := Folder(root, boot)
		l, err := Open(Options{Folder: folder, Boot: boot, Key: key, InputKey: input, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
	}
}

// With many logs a start names the newest ones and looks into no others, and no
// lock of theirs is touched.
func TestStartAmongMany(t *testing.T) {
	r := newRig(t)
	idleLogs(t, r.root, maxLooked+maxOthers)
	r.boot = "20270101T000000Z-0000000a"
	r.options.Retention = Retention{Root: r.root}
	l := r.open(t)
	defer closeLog(t, l)
	var d started
	if err := jsonDetail(r.records(t)[0], &d); err != nil || len(d.Others) != maxOthers || d.Others[0].Boot != fmt.Sprintf("2026%04dT000000Z-0000000a", maxLooked+maxOthers-1) || d.Others[0].Live {
		t.Errorf("%+v, %v", d, err)
	}
	if locks, _ := filepath.Glob(filepath.Join(Servers(r.root), "*", logName, lockName)); len(locks) != 1 || !filelock.Held(locks[0]) {
		t.Errorf("locks %v", locks)
	}
}

// All of many logs are shown, in the order of time, and verified; a stream that
// follows does not read those that ended again.
func TestManyLogs(t *testing.T) {
	r := newRig(t)
	idleLogs(t, r.root, 3*maxOpen)
	if report, err := Verify(r.root, VerifyOptions{Keys: r.keys()}); err != nil || !report.OK || len(report.Logs) != 3*maxOpen {
		t.Errorf("%v, ok %v, %d logs", err, report.OK, len(report.Logs))
	}
	s := NewStream(r.root, time.Time{})
	defer s.Close()
	count, last := 0, time.Time{}
	for round := range 3 {
		if err := s.Each(func(e Entry) error {
			if e.Err != nil || e.Time.Before(last) || len(e.Raw) == 0 || e.Raw[len(e.Raw)-1] != '}' {
				t.Errorf("%s %d: %v %q", e.Boot, e.Seq, e.Err, e.Raw)
			}
			count, last = count+1, e.Time
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if count != 3*maxOpen*4 { // server_start, checkpoint, server_stop, checkpoint
			t.Errorf("round %d: %d records", round, count)
		}
	}
	buffers := 0
	for _, one := range s.logs {
		if one.lines.r != nil {
			buffers++
		}
		if one.rest == 0 {
			t.Errorf("%s is looked at again", one.Boot)
		}
	}
	if buffers > maxOpen+1 || s.open > maxOpen+1 {
		t.Errorf("%d buffers, %d files are open", buffers, s.open)
	}
}

// Retention of many logs opens none but those it removes, a bounded number at once.
func TestRetentionOfMany(t *testing.T) {
	r := newRig(t)
	idleLogs(t, r.root, maxRemoved+10)
	year := time.Now().Add(-500 * 24 * time.Hour)
	broken := filepath.Join(Folder(r.root, "20260003T000000Z-0000000a"), "0000000004.jsonl")
	if err := os.WriteFile(broken, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(filepath.Dir(broken), "0000000000.jsonl")
	if err := os.WriteFile(first, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(Servers(r.root), "*", logName, "*.jsonl"))
	for _, file := range files {
		if err := os.Chtimes(file, year, year); err != nil {
			t.Fatal(err)
		}
	}
	r.boot = "20270101T000000Z-0000000a"
	r.options.Retention = Retention{Root: r.root}
	l := r.open(t)
	defer closeLog(t, l)
	more, err := l.retainSome()
	if !more || err == nil { // the broken one is told
		t.Errorf("more %v, error %v", more, err)
	}
	if more, err = l.retainSome(); more || err == nil {
		t.Errorf("more %v, error %v", more, err)
	}
	left, err := Logs(r.root)
	if err != nil || len(left) != 2 { // the broken one, and this server's own
		t.Errorf("%d logs are left, %v", len(left), err)
	}
}

// A run of many servers that did nothing costs the next start little.
func BenchmarkOpenAmong(b *testing.B) {
	for _, n := range []int{0, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			idleLogs(b, root, n)
			key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
			b.ResetTimer()
			for i := range b.N {
				boot := fmt.Sprintf("2027%06dT000000Z-0000000a", i)
				l, err := Open(Options{Folder: Folder(root, boot), Boot: boot, Key: key, InputKey: make([]byte, 32), Retention: Retention{Root: root}})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				closeLog(b, l)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRetain is a pass of retention that finds nothing to do.
func BenchmarkRetain(b *testing.B) {
	r := newRig(b)
	idleLogs(b, r.root, 5000)
	r.boot, r.options.Retention = "20270101T000000Z-0000000a", Retention{Root: r.root}
	l := r.open(b)
	defer closeLog(b, l)
	for b.Loop() {
		if err := l.Retain(); err != nil {
			b.Fatal(err)
		}
	}
}

// A run that ends within a minute removes what is due, too, if it had a session.
func TestRetentionWithTheFirstSession(t *testing.T) {
	r := newRig(t)
	idleLogs(t, r.root, 3)
	files, err := filepath.Glob(filepath.Join(Servers(r.root), "*", logName, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	year := time.Now().Add(-500 * 24 * time.Hour)
	for _, file := range files {
		if err := os.Chtimes(file, year, year); err != nil {
			t.Fatal(err)
		}
	}
	r.boot = "20270101T000000Z-0000000a"
	r.options.Retention = Retention{Root: r.root}
	l := r.open(t)
	defer closeLog(t, l)
	record(t, l, Record{Kind: SessionStart, Session: "s"})
	deadline := time.Now().Add(2 * time.Minute)
	for {
		left, err := Logs(r.root)
		if err == nil && len(left) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d logs are left, %v", len(left), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
