package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestRedactionsAreNotedOncePerEvent(t *testing.T) {
	log := &fakeLog{}
	p := aSession(t, log, func(o *Options) { o.Redactors = []event.Redactor{realRedactor(t)} })
	s := p.session
	token := aToken()
	s.append(event.Output, map[string]any{"text": "nothing"})
	e := s.append(event.Output, map[string]any{"a": token, "b": []string{token, token}, token: "name"})
	s.appendPicked(event.Output, "", map[string]json.RawMessage{"c": json.RawMessage(`"` + token + `"`)}, "c")
	found := log.of(audit.Redaction)
	if len(found) != 2 {
		t.Fatalf("%d records, want 2: %+v", len(found), found)
	}
	var told struct {
		EventID   int64          `json:"event_id"`
		Type      string         `json:"event_type"`
		Detectors map[string]int `json:"detectors"`
	}
	if err := json.Unmarshal(found[0].Detail, &told); err != nil {
		t.Fatal(err)
	}
	if told.EventID != e.ID || told.Type != "output" || len(told.Detectors) != 1 {
		t.Errorf("detail = %s", found[0].Detail)
	}
	if bytes.Contains(found[0].Detail, []byte(token[4:20])) {
		t.Errorf("detail = %s", found[0].Detail)
	}
}

func TestNotesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		s := aSession(t, log, nil).session
		for range maxNotes + 70 {
			s.notice("protocol_error", "a line was skipped", nil)
		}
		s.notice("policy", "this kind is not told", nil)
		if n := len(log.of(audit.ProtocolError)); n != maxNotes {
			t.Errorf("%d records in a minute, want %d", n, maxNotes)
		}
		time.Sleep(time.Minute)
		s.notice("limit", "one more", nil)
		limits := log.of(audit.Limit)
		if len(limits) != 1 || string(limits[0].Detail) != `{"left_out":70,"message":"one more"}` {
			t.Errorf("limits = %+v", limits)
		}
	})
}

func TestStartAndEndAreRecorded(t *testing.T) {
	log := &fakeLog{}
	p := aSession(t, log, nil)
	s := p.session
	s.parent = "its-parent"
	for _, l := range []launch{{}, {resume: s.id}, {resume: "its-parent", fork: true}} {
		if err := s.recordLaunch(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if starts, resumes := log.of(audit.SessionStart), log.of(audit.SessionResume); len(starts) != 2 || len(resumes) != 1 || string(starts[1].Detail) != `{"fork":true}` || starts[0].Detail != nil {
		t.Errorf("starts = %+v, resumes = %+v", starts, resumes)
	}
	s.cancel("enough", "client")
	<-s.Done()
	end := log.of(audit.SessionEnd)
	if len(end) != 1 || end[0].Parent != "its-parent" || !bytes.Contains(end[0].Detail, []byte(`"reason":"enough","source":"client"`)) {
		t.Errorf("end = %+v", end)
	}
}

func TestAnEndIsNotStoppedByTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{hang: func(r audit.Record) bool { return r.Kind == audit.SessionEnd }}
		s := aSession(t, log, nil).session
		s.onRecord.Store(true)
		began := time.Now()
		s.cancel("enough", "client")
		<-s.Done()
		if took := time.Since(began); took > auditPatience || len(log.noted) != 1 {
			t.Errorf("the end took %s, noted %+v", took, log.noted)
		}
	})
}

func TestDigestOfTheProgram(t *testing.T) {
	log := &fakeLog{}
	s := aSession(t, log, nil).session
	path := filepath.Join(t.TempDir(), "claude")
	s.engine.o.Executable = path
	s.engine.versions[path] = "2.1.197"
	digestOf := func(content string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := s.recordLaunch(t.Context(), launch{}); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(time.Minute)
		for s.program.Load().told().SHA256 == "" {
			if time.Now().After(deadline) {
				t.Fatal("there is no digest")
			}
			time.Sleep(time.Millisecond)
		}
		r := audit.Record{}
		s.stamp(&r)
		if r.CLI.Path != path || r.CLI.Version != "2.1.197" {
			t.Errorf("cli = %+v", r.CLI)
		}
		return r.CLI.SHA256
	}
	for _, content := range []string{"one", "another one"} {
		sum := sha256.Sum256([]byte(content))
		if got := digestOf(content); got != hex.EncodeToString(sum[:]) {
			t.Errorf("digest of %q = %s", content, got)
		}
	}
	if first, again := s.engine.programs.look(path, "2.1.197"), s.engine.programs.look(path, "2.1.197"); first != again {
		t.Error("an unchanged program is read twice")
	}
	for i := range maxPrograms + 10 {
		s.engine.programs.look(path, string(rune('a'+i)))
	}
	s.engine.programs.look(filepath.Join(t.TempDir(), "none"), "")
	if n := len(s.engine.programs.seen); n > maxPrograms {
		t.Errorf("%d programs are remembered", n)
	}
}

func TestDecidedBy(t *testing.T) {
	for _, c := range []struct {
		source, rule, by, want string
	}{
		{"policy", "org.x", "policy", "policy/org"},
		{"policy", "engine.default", "engine", "engine/"},
		{"policy", "engine.panic", "engine", "error/engine.panic"},
		{"policy", ruleStore, "engine", "error/" + ruleStore},
		{"respond", "org.x", "policy", "approver/client"},
		{"human", "org.x", "policy", "approver/human"},
		{"timeout", "org.x", "policy", "timeout/"},
		{"grant", "org.x", "policy", "grant/"},
		{"process", "org.x", "policy", "engine/process"},
	} {
		d := permission.Decision{Rule: c.rule, By: c.by, Layer: "org"}
		if got := decidedBy(c.source, d); got.Kind+"/"+got.Name != c.want {
			t.Errorf("%s by %s: %+v, want %s", c.source, c.rule, got, c.want)
		}
	}
}

// BenchmarkDecisionAudited is a decision by one trivial judge, from the CLI's
// request to the answer, without an audit log and with one that keeps nothing.
func BenchmarkDecisionAudited(b *testing.B) {
	for name, log := range map[string]audit.Recorder{"without": nil, "with": &forgetful{}} {
		b.Run(name, func(b *testing.B) {
			p := aSession(b, log, nil)
			r := askFor("Allow", `{"command":"go test ./... && git status --short","description":"Run the tests"}`)
			b.ReportAllocs()
			for b.Loop() {
				if a, err := p.HandleRequest(b.Context(), r); err != nil || unpermitted(a) {
					b.Fatal(a, err)
				}
			}
		})
	}
}

type forgetful struct{ fakeLog }

func (*forgetful) Record(context.Context, audit.Record) error { return nil }
