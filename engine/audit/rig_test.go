package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log of the tests: small segments, a checkpoint every few records.
type rig struct {
	root, boot string
	key        ed25519.PrivateKey
	options    Options
	every      int // records under one checkpoint; 0: as ever
	create     func(string) (segmentFile, error)
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{root: t.TempDir(), boot: "20260101T000000Z-0000000a", key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)), create: openSegment}
}

func (r *rig) folder() string { return Folder(r.root, r.boot) }

// open begins the log; the test closes it.
func (r *rig) open(t testing.TB) *Log {
	t.Helper()
	o := r.options
	o.Folder, o.Boot, o.Key = r.folder(), r.boot, r.key
	if o.InputKey == nil {
		o.InputKey = bytes.Repeat([]byte{1}, 32)
	}
	l, err := open(o, func(path string) (segmentFile, error) { return r.create(path) })
	if err != nil {
		t.Fatal(err)
	}
	if r.every > 0 {
		l.writer.signEvery = r.every // read only after a record came
	}
	return l
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func decision(tool, excerpt string) Record {
	return Record{
		Kind: Decision, Session: "5e55-1", Tool: tool, ToolUseID: "toolu_1", Cwd: "/p",
		Input:   &Input{Raw: json.RawMessage(`{"command":"` + excerpt + `"}`), Excerpt: excerpt},
		Verdict: &Verdict{ID: "d1", Effect: "deny", Rule: "git.push", Rules: []string{"git.push"}},
		By:      &By{Kind: "policy"}, Policy: &Policy{Revision: "r1"},
	}
}

func record(t testing.TB, l *Log, r Record) {
	t.Helper()
	if err := l.Record(context.Background(), r); err != nil {
		t.Fatal(err)
	}
}

// verified is the report on the rig's own log.
func (r *rig) verified(t testing.TB, o VerifyOptions) LogReport {
	t.Helper()
	report, err := Verify(r.root, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range report.Logs {
		if l.Boot == r.boot {
			return l
		}
	}
	t.Fatalf("no report on %s in %+v", r.boot, report)
	return LogReport{}
}

func (r *rig) keys() []ed25519.PublicKey {
	return []ed25519.PublicKey{r.key.Public().(ed25519.PublicKey)}
}

// text is the whole log, and where each segment begins in it.
func (r *rig) read(t testing.TB) (files []string, texts []string) {
	t.Helper()
	all, err := segments(r.folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := os.ReadFile(filepath.Join(r.folder(), s.name))
		if err != nil {
			t.Fatal(err)
		}
		files, texts = append(files, s.name), append(texts, string(text))
	}
	return files, texts
}

// records parses the whole log.
func (r *rig) records(t testing.TB) (all []Record) {
	t.Helper()
	_, texts := r.read(t)
	for line := range strings.Lines(strings.Join(texts, "")) {
		one, why := parse([]byte(strings.TrimSuffix(line, "\n")))
		if why != "" {
			t.Fatalf("%s: %s", why, line)
		}
		all = append(all, one)
	}
	return all
}

func kinds(all []Record) string {
	var names []string
	for _, r := range all {
		names = append(names, string(r.Kind))
	}
	return strings.Join(names, " ")
}

// jsonDetail decodes the detail of a record.
func jsonDetail(r Record, to any) error { return json.Unmarshal(r.Detail, to) }
