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
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
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
	t.Cleanup(p.Stop)
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
	began := time.Now()
	p.Stop()
	p.Stop() // twice is fine
	if p.Exit() != "exit status 0" || time.Since(began) > time.Second {
		t.Errorf("exit %q after %s", p.Exit(), time.Since(began))
	}
	if _, err := p.Read(); err == nil {
		t.Error("read after the end succeeded")
	}
}

func TestLineTooLong(t *testing.T) {
	p, _ := start(t, `{"turns":[[{"oversized_bytes":300000}]]}`, 100_000)
	if err := p.Write(json.RawMessage(prompt)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := p.Read(); errors.Is(err, cli.ErrLineTooLong) {
			return
		} else if err != nil {
			t.Fatalf("read: %v, want ErrLineTooLong", err)
		}
	}
}

func TestStderrIsKept(t *testing.T) {
	p, _ := start(t, `{"exit_at_start":{"code":4,"stderr":"no login"}}`, 0)
	if _, err := p.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v, want EOF", err)
	}
	<-p.Done()
	time.Sleep(50 * time.Millisecond) // stderr is drained beside the wait
	if p.Exit() != "exit status 4" || p.Stderr() != "no login" {
		t.Errorf("exit %q, stderr %q", p.Exit(), p.Stderr())
	}
}

// A CLI that ignores everything, with a child in a session of its own that
// holds the pipes, is gone within the ladder's time.
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
	began := time.Now()
	p.Stop()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("stop took %s", took)
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
	if took := time.Since(began); took > 5*time.Second {
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
