package door

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// keeper is a Handler that remembers.
type keeper struct {
	questions []Question
	err       error

	mu      sync.Mutex
	answers []Answer
	refused []string
}

func (k *keeper) Pending() []Question { return k.questions }

func (k *keeper) Answer(_ context.Context, _ Peer, a Answer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers = append(k.answers, a)
	return k.err
}

func (k *keeper) Refused(_ Peer, session, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused = append(k.refused, session+" "+reason)
}

// folder is a short one: a socket's address is.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "doors")
}

func opened(t *testing.T, dir string, k *keeper) *Door {
	t.Helper()
	d, err := Listen(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { d.Serve(k); close(served) }() // ends with the door
	t.Cleanup(func() {
		d.Close()
		<-served
	})
	return d
}

func TestAskAndAnswer(t *testing.T) {
	dir := folder(t)
	k := &keeper{questions: []Question{{ID: "one", Tool: "Bash", Input: "command: <ls> & \u00e9"}, {ID: "two"}}}
	d := opened(t, dir, k)
	sockets, err := Sockets(dir)
	if err != nil || len(sockets) != 1 || sockets[0] != d.Path() {
		t.Fatalf("sockets = %q, %v", sockets, err)
	}
	all, omitted, err := Ask(t.Context(), sockets[0])
	if err != nil || omitted != 0 || len(all) != 2 || all[0].Input != k.questions[0].Input || all[1].ID != "two" {
		t.Errorf("questions = %+v, %d omitted, %v", all, omitted, err)
	}
	want := Answer{ID: "one", Allow: true, Reason: "fine", Digest: "abc"}
	if err := Send(t.Context(), sockets[0], want); err != nil {
		t.Error(err)
	}
	if len(k.answers) != 1 || k.answers[0] != want {
		t.Errorf("answers = %+v", k.answers)
	}
	if err := Send(t.Context(), sockets[0], Answer{ID: "one", Allow: true}); err == nil || !strings.Contains(err.Error(), "digest: is required") {
		t.Errorf("an answer without a digest: %v", err)
	}
	k.err = &Error{"GONE", "it is gone"}
	err = Send(t.Context(), sockets[0], want)
	if said, ok := errors.AsType[*Error](err); !ok || said.Word != "GONE" || said.Text != "it is gone" {
		t.Errorf("error = %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(d.Path()); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, _, err := Ask(t.Context(), sockets[0]); !errors.Is(err, ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestLongQuestionFitsOneLine(t *testing.T) {
	long := strings.Repeat("\"\\\n", 60_000)
	cases := map[string]Question{
		"input":  {ID: "x", Input: "BEGIN" + long + "END"},
		"fields": {ID: "x", Fields: []Field{{"/a", long}, {"/b", long}}},
		"rest":   {ID: "x", Rule: long, Tool: long, Reason: long, Cwd: long, Approvers: []string{long}},
	}
	for name, q := range cases {
		line, err := fit(q)
		if err != nil || len(line) > MaxLine {
			t.Errorf("%s: %d bytes, %v", name, len(line), err)
		}
		var r reply
		if json.Unmarshal(line, &r) != nil || r.Question.ID != "x" {
			t.Errorf("%s: the line is no reply", name)
		}
		if name == "input" && (!r.Question.Cut || !strings.HasPrefix(r.Question.Input, "BEGIN") || !strings.HasSuffix(r.Question.Input, "END")) {
			t.Errorf("the input shown lacks an end, or does not say that it is cut")
		}
	}
}

func TestShorten(t *testing.T) {
	if text, cut := Shorten("abc", 3); text != "abc" || cut {
		t.Errorf("%q, %t", text, cut)
	}
	text, cut := Shorten(strings.Repeat("é", 100)+"end", 20)
	if want := strings.Repeat("é", 7) + "\n… 184 bytes are not shown here …\n" + "éend"; !cut || text != want {
		t.Errorf("%q, %t, want %q", text, cut, want)
	}
}

// said sends lines as they are and returns the first reply.
func said(t *testing.T, path, lines string) string {
	t.Helper()
	conn, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte(lines)) // a peer that is turned away cannot write all
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return line
}

func TestBadRequests(t *testing.T) {
	d := opened(t, folder(t), &keeper{})
	for line, want := range map[string]string{
		"not json\n":                                "cannot be read",
		`{"op":"pending","more":1}` + "\n":          "unknown field",
		`{"op":"approve"}` + "\n":                   "is unknown, want pending or answer",
		strings.Repeat("x", MaxLine+2):              "a request has at most 65536 bytes",
		`{"op":"answer","request_id":"x"}\n` + "\n": "cannot be read",
	} {
		if got := said(t, d.Path(), line); !strings.Contains(got, want) && !strings.Contains(got, "reset") {
			t.Errorf("%.40q: %q, want %q", line, got, want)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	d := opened(t, folder(t), &keeper{})
	for range maxPeers {
		conn, err := dial(t.Context(), d.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write([]byte(`{"op":"pending"}` + "\n"))
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "done") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if got := said(t, d.Path(), `{"op":"pending"}`+"\n"); strings.Contains(got, "done") {
		t.Errorf("connection %d was answered: %s", maxPeers+1, got)
	}
}

func TestStaleSocketsAreRemoved(t *testing.T) {
	dir := folder(t)
	alive := opened(t, dir, &keeper{})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(alive.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "1-dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	sweep(dir)
	if _, err := os.Lstat(stale); err != nil {
		t.Errorf("a young socket was removed: %v", err)
	}
	os.Chtimes(stale, old, old)
	os.WriteFile(filepath.Join(dir, "2-file.sock"), nil, 0o600)
	sweep(dir)
	if _, err := os.Lstat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale socket is still there: %v", err)
	}
	if left := list(dir); len(left) != 2 {
		t.Errorf("left: %q", left)
	}
}

func TestNoFolderIsNoDoor(t *testing.T) {
	if all, err := Sockets(folder(t)); err != nil || all != nil {
		t.Errorf("%q, %v", all, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"op":"pending"}`))
	f.Add([]byte(`{"op":"answer","request_id":"x","allow":true,"digest":"d"}`))
	f.Add([]byte(`{"op":"answer","Allow":true,"allow":false,"digest":"d"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		k := &keeper{}
		go func() { // ends with the connection
			defer ours.Close()
			answer(context.Background(), ours, k, Peer{}, line)
		}()
		text, err := bufio.NewReader(theirs).ReadString('\n')
		if err != nil || !json.Valid([]byte(text)) {
			t.Fatalf("%q was answered %q, %v", line, text, err)
		}
		for _, a := range k.answers {
			if a.Digest == "" {
				t.Fatalf("%q became the answer %+v without a digest", line, a)
			}
		}
	})
}

func ExampleShorten() {
	text, cut := Shorten("rm -rf build && echo done", 12)
	fmt.Println(text, cut)
	// Output:
	// rm -rf bu
	// … 13 bytes are not shown here …
	// one true
}
