package cli_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "misbehave" {
		os.Exit(helper(os.Args[2:]))
	}
	os.Exit(testleak.Run(m, "cli.init.func")) // the one locked spawner is permanent
}

func start(t *testing.T, scenario string, maxLine int) (*cli.Process, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := cli.Start(cli.Command{
		Path: os.Args[0], Dir: dir, Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), Marker: t.Name() + dir, MaxLine: maxLine,
		Args: []string{"scripted-cli", "--scenario", file, "--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop() })
	return p, dir
}

const prompt = `{"type":"user","message":{"role":"user","content":"go"}}`

// readUntil reads lines until one holds part.
func readUntil(t *testing.T, p *cli.Process, part string) {
	t.Helper()
	for {
		line, err := p.Read()
		if err != nil {
			t.Fatalf("read: %v; stderr: %s", err, p.Stderr())
		}
		if strings.Contains(string(line), part) {
			return
		}
	}
}

func TestReadWriteStop(t *testing.T) {
	p, _ := start(t, `{"turns":[[{"text":"hello"}]]}`, 0)
	if err := p.Write(json.RawMessage(prompt)); err != nil {
		t.Fatal(err)
	}
	readUntil(t, p, `"result"`)
	for range 2 { // twice is fine
		if err := p.Stop(); err != nil || p.Exit() != "exit status 0" {
			t.Errorf("exit %q, %v", p.Exit(), err)
		}
	}
	if _, err := p.Read(); err == nil {
		t.Error("read after the end succeeded")
	}
}

func TestLineTooLong(t *testing.T) {
	for _, step := range []string{`{"oversized_bytes":300000}`, `{"unended_bytes":300000}`} {
		p, _ := start(t, `{"turns":[[`+step+`]]}`, 100_000)
		if err := p.Write(json.RawMessage(prompt)); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			_, err = p.Read()
		}
		if !errors.Is(err, cli.ErrLineTooLong) {
			t.Errorf("%s: read: %v, want ErrLineTooLong", step, err)
		}
		p.Kill()
	}
}

// Lines of all lengths come as they were sent, whatever pieces they are kept in.
func TestLongLines(t *testing.T) {
	sizes := []int{1, 16 << 10, 256<<10 - 1, 256 << 10, 300_000, 3 << 20}
	p, _ := start(t, `{"turns":[[`+oversized(sizes)+`]]}`, 0)
	if err := p.Write(json.RawMessage(prompt)); err != nil {
		t.Fatal(err)
	}
	for len(sizes) > 0 {
		line, err := p.Read()
		if err != nil {
			t.Fatalf("%v, before %d bytes", err, sizes[0])
		}
		if !strings.Contains(string(line), `"xx`) && sizes[0] > 1 || !strings.Contains(string(line), `"assistant"`) {
			continue
		}
		if !json.Valid(line) || strings.Count(string(line), "x") < sizes[0] {
			t.Errorf("a line of %d bytes came as %d", sizes[0], len(line))
		}
		sizes = sizes[1:]
	}
}

func oversized(sizes []int) string {
	var steps []string
	for _, n := range sizes {
		steps = append(steps, `{"oversized_bytes":`+strconv.Itoa(n)+`}`)
	}
	return strings.Join(steps, ",")
}

func TestStderrIsKept(t *testing.T) {
	p, _ := start(t, `{"exit_at_start":{"code":4,"stderr":"no login"}}`, 0)
	if _, err := p.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v, want EOF", err)
	}
	<-p.Done()
	if p.Exit() != "exit status 4" || p.Stderr() != "no login" {
		t.Errorf("exit %q, stderr %q", p.Exit(), p.Stderr())
	}
}

// A CLI that ignores everything, with a child in a session of its own that
// holds the pipes, is gone in the end; TestLadder holds the time it takes.
func TestStopOfAStubbornTree(t *testing.T) {
	p, dir := start(t, `{"ignore_sigterm":true,"ignore_sigint":true,"ignore_interrupt":true,"ignore_stdin_close":true,
		"turns":[[{"spawn_child":{"pid_file":"${CWD}/pid"}},{"text":"up"},{"wait_interrupt":true}]]}`, 0)
	if err := p.Write(json.RawMessage(prompt)); err != nil {
		t.Fatal(err)
	}
	readUntil(t, p, "up")
	raw, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || !alive(child) {
		t.Fatalf("child %q is not alive: %v", raw, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if alive(child) {
		t.Errorf("child %d lives on", child)
	}
}

// The end is seen from the process, not from the pipe that its child holds.
func TestEndWhileAChildHoldsThePipe(t *testing.T) {
	p, _ := start(t, `{"turns":[[{"spawn_child":{"pid_file":"${CWD}/pid"}},{"exit":{"code":7}}]]}`, 0)
	if err := p.Write(json.RawMessage(prompt)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for {
		if _, err := p.Read(); err != nil {
			break
		}
	}
	if took := time.Since(began); took > time.Minute { // the child lives for five
		t.Errorf("the end was seen after %s", took)
	}
	<-p.Done()
	if p.Exit() != "exit status 7" {
		t.Errorf("exit %q", p.Exit())
	}
}

func TestMissingProgram(t *testing.T) {
	if _, err := cli.Start(cli.Command{Path: filepath.Join(t.TempDir(), "none"), Marker: "m"}); err == nil {
		t.Error("a missing program started")
	}
}
