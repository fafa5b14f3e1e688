package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/door"
)

func TestMerged(t *testing.T) {
	question := func(id string, change func(*door.Question)) waiting {
		q := door.Question{ID: id, Session: "s", Tool: "Bash", SHA256: "d", Rule: "r"}
		if change != nil {
			change(&q)
		}
		return waiting{q, "socket"}
	}
	other := question("7", nil)
	other.socket = "of another server"
	groups := merged([]waiting{
		question("1", nil), question("2", func(q *door.Question) { q.SHA256 = "e" }), question("3", nil),
		question("4", func(q *door.Question) { q.Session = "t" }), question("5", func(q *door.Question) { q.Rule = "q" }),
		question("6", func(q *door.Question) { q.Agent = "a" }), other,
	})
	var got []string
	for _, g := range groups {
		got = append(got, strings.Join(g.IDs, "+"))
	}
	if want := "1+3 2 4 5 6 7"; strings.Join(got, " ") != want || groups[0].Count != 2 {
		t.Errorf("groups = %q, want %q", got, want)
	}
}

func TestShownQuestion(t *testing.T) {
	now := time.Now()
	var out bytes.Buffer
	group{Count: 1, IDs: []string{"id\x1b[2J"}, Question: door.Question{
		Tool: "Bash\u202e", Session: "s", Rule: "r", Reason: "line\nrule safe: yes", Input: "command: a\n  | b\x07", Bytes: 9, SHA256: "abc", Cut: true,
		Approvers: []string{"human"}, Quorum: 2, ApprovedBy: []string{"client"}, Scope: "session", ScopeTTL: 90,
		Fields: []door.Field{{Pointer: "/command", Value: "a"}}, Created: now.Add(-90 * time.Second), Deadline: now.Add(30 * time.Second),
	}}.show(&out, now)
	for _, want := range []string{
		`id\x1b[2J  Bash\u{202e}`, `rule      r: line\nrule safe: yes`, "waits     1m30s, denied in 30s", "answer by human; it takes 2, so far: client",
		"covers    every call of this session that the same rules ask about, of the same agent in the same folder, for 1m30s", "/command  a", "input     9 bytes, sha256 abc",
		"    command: a\n", `      | b\x07`, "NOT ALL of the input is shown",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not shown: %q in\n%s", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\u202e") {
		t.Errorf("control characters are shown raw: %q", out.String())
	}
}

func TestApproveAsksAtTheTerminal(t *testing.T) {
	for typed, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "\n": false, "": false, "n\n": false, "yessir\n": false} {
		var out bytes.Buffer
		c := &command{stdin: strings.NewReader(typed), stdout: &out}
		if got := c.confirmed(waiting{}); got != want || !strings.Contains(out.String(), "let this run? [y/N]") {
			t.Errorf("%q counts as %t; shown: %s", typed, got, out.String())
		}
	}
}

// oneQuestion keeps the door of a server that waits for one answer.
type oneQuestion struct{ door.Handler }

func (oneQuestion) Pending() []door.Question {
	return []door.Question{{ID: "aaaaaaaabbbb", Tool: "Bash"}}
}

// A server that lies or hangs hides nobody else's questions.
func TestPendingBesideABrokenServer(t *testing.T) {
	state := t.TempDir()
	folder := doorFolder(environment{"HOME=" + state, "XDG_STATE_HOME=" + state}.stateFolder())
	good, err := door.Listen(folder, 0)
	if err != nil {
		t.Skipf("no Unix sockets here: %v", err)
	}
	go good.Serve(oneQuestion{}) // ends with Close
	look := func() (code int, out, told string) {
		var stdout, stderr bytes.Buffer
		c := &command{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, env: environment{"HOME=" + state, "XDG_STATE_HOME=" + state}}
		code = c.pending(t.Context(), nil)
		return code, stdout.String(), stderr.String()
	}
	if code, out, told := look(); code != exitOK || !strings.Contains(out, "aaaaaaaabbbb") || told != "" {
		t.Fatalf("alone: exit %d, %s, %s", code, out, told)
	}
	for name, answer := range map[string]string{"0-nonsense": "nonsense\n", "1-hangs": "", "2-rude": `{"error":"go \u001b[2J away","code":"NO"}` + "\n"} {
		l, err := net.Listen("unix", filepath.Join(folder, name+".sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() { // ends with the listener
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				io.WriteString(conn, answer)
			}
		}()
	}
	if err := os.WriteFile(filepath.Join(folder, "3-file.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, told := look()
	if code != exitOK || !strings.Contains(out, "aaaaaaaabbbb") {
		t.Errorf("beside them: exit %d, %s", code, out)
	}
	for _, want := range []string{"0-nonsense.sock: reply:", "1-hangs.sock: no answer within 3s", `go \x1b[2J away`} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %q in\n%s", want, told)
		}
	}
	good.Close()
	if code, out, _ := look(); code != exitTurnFailed || out != "" {
		t.Errorf("without a server that answers: exit %d, %s", code, out)
	}
}

func TestAnswersAtTheDoorHaveCodes(t *testing.T) {
	var err error = coded{engine.Errorf(engine.PermissionDenied, "no")}
	if c, ok := errors.AsType[door.Coded](err); !ok || c.Code() != "PERMISSION_DENIED" {
		t.Errorf("error = %v", err)
	}
	err = coded{context.Canceled}
	if c, ok := errors.AsType[door.Coded](err); !ok || c.Code() != "INTERNAL" {
		t.Error("an error without a code has one")
	}
}
