package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server records in a log of its own below a shared root.
func server(t *testing.T, root string, n int, records int, retention Retention) *rig {
	t.Helper()
	r := newRig(t)
	r.root, r.boot = root, fmt.Sprintf("20260101T0000%02dZ-00000000", n)
	r.options.Retention, r.options.SegmentBytes = retention, 1000
	l := r.open(t)
	for range records {
		record(t, l, decision("Bash", "ls"))
	}
	if err := l.Retain(); err != nil {
		t.Error(err)
	}
	closeLog(t, l)
	return r
}

func TestOtherLogsAreKnown(t *testing.T) {
	root := t.TempDir()
	a := server(t, root, 1, 3, Retention{Root: root})
	b := server(t, root, 2, 3, Retention{Root: root})
	report, err := Verify(root, VerifyOptions{Keys: a.keys()})
	if err != nil || !report.OK || len(report.Logs) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	// The end of the first log is cut at a record.
	files, texts := a.read(t)
	last := filepath.Join(a.folder(), files[len(files)-1])
	if err := os.WriteFile(last, []byte(texts[len(texts)-1][:strings.LastIndex(strings.TrimSpace(texts[len(texts)-1]), "\n")+1]), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err = Verify(root, VerifyOptions{Server: a.boot})
	if err != nil || report.OK || report.Logs[0].Bad.Kind != Cut || !strings.Contains(report.Logs[0].Bad.Why, "server "+b.boot) {
		t.Errorf("%+v, %v", report, err)
	}
	if err := os.RemoveAll(a.folder()); err != nil {
		t.Fatal(err)
	}
	report, err = Verify(root, VerifyOptions{})
	if err != nil || report.OK || len(report.Lost) != 1 || report.Lost[0].Boot != a.boot || report.Lost[0].Kind != Missing {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestWrongKey(t *testing.T) {
	r := newRig(t)
	closeLog(t, r.open(t))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	if report := r.verified(t, VerifyOptions{Keys: []ed25519.PublicKey{PublicKey(other)}}); report.Bad == nil || report.Bad.Kind != WrongKey {
		t.Errorf("%+v", report.Bad)
	}
	if report := r.verified(t, VerifyOptions{Keys: []ed25519.PublicKey{PublicKey(other), PublicKey(r.key)}}); report.Bad != nil {
		t.Errorf("%+v", report.Bad)
	}
}

func TestCheckpointOfAnother(t *testing.T) {
	r := newRig(t)
	closeLog(t, r.open(t))
	good, err := NewestCheckpoint(r.root, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ExportedCheckpoint){
		"another hash, signature left":  func(c *ExportedCheckpoint) { c.Hash = zeroHash },
		"another hash, unsigned":        func(c *ExportedCheckpoint) { c.Hash, c.Signature = zeroHash, Signature{} },
		"of a log that is not there":    func(c *ExportedCheckpoint) { c.Boot, c.Signature = "gone", Signature{} },
		"of a record that is not there": func(c *ExportedCheckpoint) { c.Seq, c.Signature = 99, Signature{} },
		"another record of its own":     func(c *ExportedCheckpoint) { c.RecordHash = zeroHash },
	} {
		c := good
		change(&c)
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseCheckpoint(line)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Verify(r.root, VerifyOptions{Checkpoints: []ExportedCheckpoint{read}})
		if err != nil || report.OK {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// A torn line is a crash, behind a log that goes on in a next file it is not.
func TestTornTail(t *testing.T) {
	x := newTampered(t)
	last := len(x.texts) - 1
	// The server was killed after its first record of that file.
	first, _, _ := strings.Cut(x.texts[0], "\n")
	for i := 1; i <= last; i++ {
		if err := os.Remove(filepath.Join(x.folder(), x.files[i])); err != nil {
			t.Fatal(err)
		}
	}
	x.write(t, 0, first+"\n"+`{"seq":1,"ti`)
	report := x.verified(t, VerifyOptions{})
	if report.Bad != nil || report.Torn != 12 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "torn tail after record 0 (crash)") {
		t.Errorf("%+v", report)
	}
}

func TestRetention(t *testing.T) {
	root := t.TempDir()
	keep := Retention{Root: root, MaxBytes: 1 << 30}
	a := server(t, root, 1, 8, keep)
	b := server(t, root, 2, 8, keep)
	files, texts := a.read(t)
	old := time.Now().Add(-500 * 24 * time.Hour)
	for _, f := range files[:2] {
		if err := os.Chtimes(filepath.Join(a.folder(), f), old, old); err != nil {
			t.Fatal(err)
		}
	}
	c := server(t, root, 3, 0, Retention{Root: root})
	if left, _ := a.read(t); len(left) != len(files)-2 {
		t.Fatalf("%d of %d files are left", len(left), len(files))
	}
	report, err := Verify(root, VerifyOptions{Keys: c.keys()})
	if err != nil || !report.OK || len(report.Logs[0].Notes) != 1 || !strings.Contains(report.Logs[0].Notes[0], "retention removed what was before it") {
		t.Fatalf("%+v, %v", report, err)
	}
	// Without the ledger, or with one more file gone, somebody cut the head.
	ledger := filepath.Join(root, serversName, ledgerName)
	text, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"no ledger": func() error { return os.Remove(ledger) },
		"a forged ledger": func() error {
			return os.WriteFile(ledger, bytes.Replace(text, []byte(`"by":"2026`), []byte(`"by":"2025`), -1), 0o600)
		},
		"another file cut": func() error { return os.Remove(filepath.Join(a.folder(), files[2])) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(root, VerifyOptions{Keys: c.keys(), Server: a.boot})
		if err != nil || report.OK || report.Logs[0].Bad == nil || report.Logs[0].Bad.Kind != Deleted {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if err := os.WriteFile(ledger, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a.folder(), files[2]), []byte(texts[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// With room for nothing, all but the log of the server that runs goes.
	d := server(t, root, 4, 0, Retention{Root: root, MaxBytes: 1})
	logs, err := Logs(root)
	if err != nil || len(logs) != 1 || logs[0].Boot != d.boot {
		t.Errorf("%v are left, %v", logs, err)
	}
	if _, err := os.Stat(filepath.Dir(b.folder())); !os.IsNotExist(err) {
		t.Errorf("the folder of a server is left: %v", err)
	}
	if report, err := Verify(root, VerifyOptions{Keys: d.keys()}); err != nil || !report.OK {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestCompactLedger(t *testing.T) {
	servers := t.TempDir()
	for n := range 10 {
		if err := appendLedger(servers, removal{Boot: fmt.Sprintf("b%d", n%3), Seq: int64(n), Hash: zeroHash}); err != nil {
			t.Fatal(err)
		}
	}
	if err := compactLedger(servers); err != nil {
		t.Fatal(err)
	}
	found, order, err := readLedger(servers)
	if err != nil || len(order) != 3 || found["b0"].Seq != 9 || found["b1"].Seq != 7 || found["b2"].Seq != 8 {
		t.Errorf("%v, %v, %v", found, order, err)
	}
	if text, err := os.ReadFile(filepath.Join(servers, ledgerName)); err != nil || bytes.Count(text, []byte("\n")) != 3 {
		t.Errorf("%s, %v", text, err)
	}
}

// FuzzVerify reads any bytes as a log: it ends, and what it takes is chained.
func FuzzVerify(f *testing.F) {
	r := newRig(f)
	l := r.open(f)
	record(f, l, decision("Bash", "ls"))
	closeLog(f, l)
	_, texts := r.read(f)
	f.Add([]byte(texts[0]))
	f.Add([]byte(`{"seq":0}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		root := t.TempDir()
		folder := Folder(root, r.boot)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, segmentName(0)), text, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(root, VerifyOptions{})
		if err != nil || len(report.Logs) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		one := report.Logs[0]
		if whole := bytes.Count(text, []byte("\n")); one.Bad == nil && one.Last != int64(whole-1) {
			t.Fatalf("%d lines, and the last record is %d", whole, one.Last)
		}
		if one.Bad == nil && one.Last >= 0 && !bytes.HasPrefix(text, []byte(`{`)) {
			t.Fatalf("taken: %q", text)
		}
		n := 0
		s := NewStream(root, time.Time{})
		defer s.Close()
		if err := s.Each(func(Entry) error { n++; return nil }); err != nil || n > len(text)+1 {
			t.Fatalf("%d entries, %v", n, err)
		}
	})
}
