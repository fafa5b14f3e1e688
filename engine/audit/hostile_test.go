package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// closedLog is a log that ended in order, with a few decisions.
func closedLog(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	l := r.open(t)
	for range 3 {
		record(t, l, decision("Bash", "ls"))
	}
	closeLog(t, l)
	return r
}

// rechained is a log that somebody without the key made up, of bodies they chose.
func rechained(boot string, step time.Duration, bodies ...string) string {
	c, at, text := chain{prev: zeroHash}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), []byte(nil)
	for _, body := range bodies {
		text = c.line(text, at, boot, []byte(body))
		at = at.Add(step)
	}
	return string(text)
}

// With the key given, a whole log that was made up without it is found, however
// short it is.
func TestMadeUpLogs(t *testing.T) {
	const start, allow, stop = `"kind":"server_start"`, `"kind":"decision","decision":{"value":"allow","reason_code":"x"}`, `"kind":"server_stop"`
	for name, text := range map[string]string{
		"one record":              rechained("20260101T000000Z-0000000a", 0, start),
		"killed at once":          rechained("20260101T000000Z-0000000a", time.Second, start, allow, allow),
		"ended in order":          rechained("20260101T000000Z-0000000a", time.Second, start, allow, stop),
		"longer than ten seconds": rechained("20260101T000000Z-0000000a", 6*time.Second, start, allow, allow, allow),
	} {
		r := closedLog(t)
		if err := os.WriteFile(filepath.Join(r.folder(), "0000000000.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad == nil || report.Bad.Kind != BadSignature {
			t.Errorf("%s: %+v", name, report)
		}
		if report := r.verified(t, VerifyOptions{}); report.Bad != nil {
			t.Errorf("%s, without a key: %v", name, report.Bad)
		}
	}
}

// The end behind a checkpoint of which all has to be recent, and a stop that has
// to be signed.
func TestUnsignedEnds(t *testing.T) {
	for name, bodies := range map[string][]string{
		"much later": {`"kind":"decision"`}, "stopped": {`"kind":"server_stop"`},
	} {
		r := newRig(t)
		l := r.open(t)
		record(t, l, decision("Bash", "ls"))
		closeLog(t, l)
		_, texts := r.read(t)
		lines := strings.SplitAfter(texts[0], "\n")[:3] // server_start, checkpoint, decision
		last, why := parse([]byte(strings.TrimSuffix(lines[2], "\n")))
		if why != "" {
			t.Fatal(why)
		}
		c := chain{seq: 3, prev: last.Hash}
		var more []byte
		for _, body := range bodies {
			more = c.line(more, last.Time.Add(time.Minute), r.boot, []byte(body))
		}
		if err := os.WriteFile(filepath.Join(r.folder(), "0000000000.jsonl"), append([]byte(strings.Join(lines, "")), more...), 0o600); err != nil {
			t.Fatal(err)
		}
		if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad == nil || report.Bad.Kind != BadSignature {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// A machine that slept between a record and its checkpoint, or whose clock was set
// forward, leaves a log that is whole.
func TestClockJumps(t *testing.T) {
	r := newRig(t)
	l := r.open(t)
	record(t, l, decision("Bash", "ls"))
	closeLog(t, l)
	w := newWriter(&Log{options: Options{Boot: r.boot, Key: r.key}}, nil)
	w.log.current.Store(&inForce{})
	now := time.Now().UTC()
	for _, jump := range []time.Duration{0, time.Second, 8 * time.Hour, -24 * time.Hour, 0} {
		now = now.Add(jump)
		if w.overdue(now) {
			if err := w.checkpoint(now); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.own(now, Record{Kind: Limit}); err != nil {
			t.Fatal(err)
		}
		if w.chain.seq == 1 { // as the first record
			if err := w.checkpoint(now); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(r.folder(), "0000000000.jsonl"), w.buf, 0o600); err != nil {
		t.Fatal(err)
	}
	report := r.verified(t, VerifyOptions{Keys: r.keys()})
	if report.Bad != nil || report.Last < 6 || !strings.Contains(strings.Join(report.Notes, "\n"), "set back 1 times") {
		t.Errorf("%+v", report)
	}
}

// What a power failure can leave behind the last record is a torn tail, also where
// it is longer than a line; what it cannot leave is not.
func TestZerosAtTheEnd(t *testing.T) {
	for name, x := range map[string]struct {
		tail string
		bad  bool
	}{
		"zeros":                       {strings.Repeat("\x00", 1<<20), false},
		"half a record and zeros":     {`{"seq":9` + strings.Repeat("\x00", 200<<10), false},
		"zeros and a line":            {strings.Repeat("\x00", 200<<10) + "\n", true},
		"more than what is written":   {strings.Repeat("\x00", maxTorn+2*maxRecord), true},
		"a hundred megabytes of text": {strings.Repeat("x", 100<<20), true},
	} {
		r := closedLog(t)
		_, texts := r.read(t)
		lines := strings.SplitAfter(texts[0], "\n")
		text := strings.Join(lines[:len(lines)-3], "") + x.tail // without server_stop and its checkpoint
		if err := os.WriteFile(filepath.Join(r.folder(), "0000000000.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		report := r.verified(t, VerifyOptions{Keys: r.keys()})
		if (report.Bad != nil) != x.bad || !x.bad && report.Torn != len(x.tail) {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// segmented is a log of several files, that was closed.
func segmented(t *testing.T) (r *rig, files []string) {
	t.Helper()
	r = newRig(t)
	r.options.SegmentBytes = 1000
	l := r.open(t)
	for range 9 {
		record(t, l, decision("Bash", "ls"))
	}
	closeLog(t, l)
	files, _ = r.read(t)
	return r, files
}

// Files whose names were swapped are not taken for records that were removed.
func TestRenamedFiles(t *testing.T) {
	r, files := segmented(t)
	a, b, c := filepath.Join(r.folder(), files[1]), filepath.Join(r.folder(), files[2]), filepath.Join(r.folder(), "x")
	for _, move := range [][2]string{{a, c}, {b, a}, {c, b}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	if report := r.verified(t, VerifyOptions{}); report.Bad == nil || report.Bad.Kind != Misplaced || report.Bad.Segment != files[1] {
		t.Errorf("%+v", report.Bad)
	}
}

// A line of the ledger that is not signed excuses nothing of a log that is.
func TestUnsignedLedger(t *testing.T) {
	r, files := segmented(t)
	last, ok := lastOf(filepath.Join(r.folder(), files[0]))
	if !ok {
		t.Fatal("no last record")
	}
	if err := os.Remove(filepath.Join(r.folder(), files[0])); err != nil {
		t.Fatal(err)
	}
	told := removal{By: "somebody", Boot: r.boot, Seq: last.Seq, Hash: last.Hash, Time: time.Now().UTC()}
	if err := appendLedger(Servers(r.root), told); err != nil {
		t.Fatal(err)
	}
	if report := r.verified(t, VerifyOptions{}); report.Bad == nil || report.Bad.Kind != Deleted {
		t.Errorf("not signed: %+v", report)
	}
	told.Signature = signText(r.key, told.text())
	if err := appendLedger(Servers(r.root), told); err != nil {
		t.Fatal(err)
	}
	if report := r.verified(t, VerifyOptions{}); report.Bad != nil {
		t.Errorf("signed: %+v", report.Bad)
	}
}

// A log of another machine stands out by its key, as long as none is given.
func TestForeignLog(t *testing.T) {
	r := closedLog(t)
	other := newRig(t)
	other.root, other.boot, other.key = r.root, "20250101T000000Z-0000000b", nil
	closeLog(t, other.open(t))
	report := other.verified(t, VerifyOptions{})
	if report.Bad != nil || !strings.Contains(strings.Join(report.Notes, "\n"), "it is not signed, and newer logs are") {
		t.Errorf("%+v", report)
	}
	if report := other.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad == nil {
		t.Error("with the key it is whole")
	}
}

// What somebody who follows has seen and was taken back is followed by what stands
// in its place, not hidden behind its number.
func TestStreamShowsWhatWasTakenBack(t *testing.T) {
	r, d := newRig(t), newDisk()
	r.create = d.create
	l := r.open(t)
	s := NewStream(r.root, time.Time{})
	defer s.Close()
	f := Filter{Kinds: []Kind{Decision, Gap}}
	look := func() string {
		var tools []string
		if err := s.Each(func(e Entry) error {
			switch {
			case e.Err != nil:
				t.Error(e.Err)
			case f.Match(&e.Record):
				tools = append(tools, string(e.Kind)+e.Tool)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(tools, " ")
	}
	record(t, l, decision("A", "x"))
	if got := look(); got != "decisionA" {
		t.Fatal(got)
	}
	// As the file stands between a write and the sync that fails.
	path := filepath.Join(r.folder(), "0000000000.jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := l.writer.chain // nothing is being written
	body, err := l.body(&Record{Kind: Decision, Tool: "B"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, c.line(bytes.Clone(before), time.Now().UTC(), r.boot, body), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(); got != "decisionB" {
		t.Fatal(got)
	}
	d.noSync.Store(true)
	if l.Record(context.Background(), decision("B", "x")) == nil {
		t.Fatal("it was written")
	}
	d.noSync.Store(false)
	record(t, l, decision("C", "x"))
	if got := look(); got != "audit_gap decisionC" {
		t.Errorf("got %q", got)
	}
	record(t, l, decision("D", "x"))
	if got := look(); got != "decisionD" {
		t.Errorf("got %q", got)
	}
	closeLog(t, l)
}

// Without excerpts nothing of an input is in the log, and its digest still is.
func TestNoExcerpts(t *testing.T) {
	r := newRig(t)
	r.options.NoExcerpts = true
	l := r.open(t)
	record(t, l, decision("Bash", "deploy customer-7"))
	closeLog(t, l)
	if _, texts := r.read(t); strings.Contains(texts[0], "customer-7") {
		t.Error(texts[0])
	}
	if d := r.records(t)[2]; d.Input == nil || d.Input.Bytes == 0 || len(d.Input.HMAC) != 64 || d.Input.Excerpt != "" {
		t.Errorf("%+v", d.Input)
	}
}
