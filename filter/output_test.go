//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds waits for what must come.
const patience = 2 * time.Minute

// The CLI gives both outputs one file: their order stays.
func TestOrderInOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	cmd := filtered(t, `i=0; while [ $i -lt 200 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done`)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != want.String() {
		t.Errorf("order was lost:\n%s", got)
	}
}

// What is clean passes byte for byte, whatever bytes they are.
func TestBytesPass(t *testing.T) {
	random := make([]byte, 3<<20)
	rand.Read(random)
	image := []byte("data:image/png;base64," + strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 4000) + "==\n")
	for name, content := range map[string][]byte{
		"random": random, "image": image,
		"zeros":       make([]byte, 1<<20),
		"broken text": []byte("a\xff\xfe\x00b\xc3\n\xe2\x82"),
		"one line":    bytes.Repeat([]byte("word "), 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "content")
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := result(t, filtered(t, "cat "+file))
			if stdout != string(content) || stderr != "" || code != 0 {
				t.Errorf("%d bytes became %d, stderr %q, code %d", len(content), len(stdout), stderr, code)
			}
		})
	}
}

// Secrets that stand anywhere in a large output are covered, each.
func TestLargeOutput(t *testing.T) {
	const lines = 20_000
	stdout, _, _ := result(t, filtered(t, fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i $FAKE"; i=$((i+1)); done`, lines), "FAKE="+fake))
	if strings.Contains(stdout, fake[:12]) || strings.Count(stdout, covered) != lines {
		t.Errorf("%d of %d covered", strings.Count(stdout, covered), lines)
	}
}

// What cannot begin a secret is there at once.
func TestPromptness(t *testing.T) {
	cmd := filtered(t, "echo first; read line; echo second")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close() // else the command would wait for ever
	timer := time.AfterFunc(patience, func() { in.Close() })
	defer timer.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "first\n" || !timer.Stop() {
		t.Errorf("line %q, %v before the command went on", line, err)
	}
}

// The command's end is told though something in the background holds the output;
// what that prints later is covered, also when the command's end cut it in two.
func TestBackground(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "output")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := filtered(t, `{ while [ ! -e go ]; do sleep 0.02; done; printf 'aB3aB3\nlater %s\n' "$FAKE"; } & echo now; printf %s "${FAKE%aB3aB3}"`, "FAKE="+fake)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, file, file
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), "now\n") || strings.Contains(string(got), "gh"+"p_") {
		t.Errorf("at the command's end: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := "now\n" + covered + "\nlater " + covered + "\n"
	var got []byte
	for end := time.Now().Add(patience); time.Now().Before(end) && string(got) != want; time.Sleep(10 * time.Millisecond) {
		got, _ = os.ReadFile(path)
	}
	if string(got) != want {
		t.Errorf("later: %q, want %q", got, want)
	}
}

// When nobody reads any more, the command is ended as without the filter.
func TestReaderGone(t *testing.T) {
	cmd := filtered(t, "yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	out.Close()
	cmd.Wait()
	if !timer.Stop() {
		t.Error("the command ran on")
	}
}

// The folder, the mask, the limits and further descriptors are the command's own.
func TestSurroundings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const line = `pwd -P; umask; ulimit -n; ulimit -Hn; echo "three" >&3; test -t 1 || echo no terminal; cd / && pwd -P >| cwd.txt 2>/dev/null; echo "$?"`
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	run := func(filter bool) string {
		cmd := filtered(t, line)
		if !filter {
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", line}
		}
		cmd.Dir, cmd.ExtraFiles = dir, []*os.File{w}
		stdout, stderr, _ := result(t, cmd)
		return stdout + stderr
	}
	if with, without := run(true), run(false); with != without || !strings.HasPrefix(with, dir+"\n") {
		t.Errorf("with the filter:\n%s\nwithout:\n%s", with, without)
	}
	w.Close()
	if got := make([]byte, 64); true {
		if n, _ := r.Read(got); !strings.HasPrefix(string(got[:n]), "three\n") {
			t.Errorf("descriptor 3 got %q", got[:n])
		}
	}
}
