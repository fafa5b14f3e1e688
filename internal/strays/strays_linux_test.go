package strays

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/internal/instance"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary be a server that starts a session and waits.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "server" {
		server(os.Args[2], os.Args[3])
	}
	os.Exit(testleak.Run(m, "cli.init", "cli.spawn", "cli.(*Process)"))
}

// server has a process that starts one more in its own session, which no
// parent-death signal reaches.
func server(state, mark string) {
	i, err := instance.Open(state)
	if err != nil {
		panic(err)
	}
	registry, err := cli.OpenRegistry(filepath.Join(i.Dir, instance.Processes))
	if err != nil {
		panic(err)
	}
	_, err = cli.Start(cli.Command{
		Path: "/bin/sh", Args: []string{"-c", "setsid sleep " + mark + " & exec sleep " + mark}, Dir: "/",
		Env: os.Environ(), Marker: "session-" + mark, Registry: registry,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(i.ID)
	time.Sleep(time.Hour)
}

func marked(mark string) (n int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Equal(line, []byte("sleep\x00"+mark+"\x00")) {
			n++
		}
	}
	return n
}

func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// start starts a server, which is killed at the end of the test at the latest.
func start(t *testing.T, state, mark string) (server *exec.Cmd, id string) {
	t.Helper()
	server = exec.Command(os.Args[0], "server", state, mark)
	var out bytes.Buffer
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = writer, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	t.Cleanup(func() { reader.Close(); server.Process.Kill(); server.Wait() })
	until(t, "the server says its name", func() bool {
		b := make([]byte, 64)
		n, _ := reader.Read(b)
		out.Write(b[:n])
		return strings.HasSuffix(out.String(), "\n")
	})
	until(t, "its processes run", func() bool { return marked(mark) == 2 })
	return server, strings.TrimSpace(out.String())
}

func TestSweepDead(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	mark := strconv.Itoa(1e9 + rand.IntN(1e9))
	killed, id := start(t, state, mark)
	living := strconv.Itoa(1e9 + rand.IntN(1e9))
	start(t, state, living)

	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	SweepDead(state, logger)
	if n := marked(mark); n != 2 || log.Len() > 0 {
		t.Fatalf("while the server lives: %d processes, log %s", n, &log)
	}
	killed.Process.Kill()
	killed.Wait()
	until(t, "the process has ended with its server", func() bool { return marked(mark) == 1 })
	SweepDead(state, logger)
	if n := marked(mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	if n := marked(living); n != 2 {
		t.Errorf("%d processes of the living server", n)
	}
	for _, want := range []string{"server=" + id, "ended=1", "session-" + mark} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s", want, &log)
		}
	}
	if all, err := instance.All(state); err != nil || len(all) != 1 {
		t.Errorf("%d folders, %v", len(all), err)
	}
	log.Reset()
	SweepDead(state, logger)
	if log.Len() > 0 {
		t.Errorf("with nothing to do: %s", &log)
	}
}

// The audit log of a dead server stays, and only its list of processes goes.
func TestAuditStays(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
		log   string
	}{
		{"empty", nil, nil, ""},
		{"audit", map[string]string{"audit/1.jsonl": "{}\n"}, []string{"audit"}, ""},
		{"audit and list", map[string]string{"audit/1.jsonl": "{}\n", instance.Processes: ""}, []string{"audit"}, ""},
		{"damaged list", map[string]string{instance.Processes: "x\n"}, nil, "is damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i, err := instance.Open(state)
			if err != nil {
				t.Fatal(err)
			}
			dir := i.Dir
			for name, text := range tt.files {
				os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			i.Close()
			os.Mkdir(dir, 0o700) // as a server leaves it that was killed at once
			var log bytes.Buffer
			SweepDead(state, slog.New(slog.NewTextHandler(&log, nil)))
			var left []string
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if fmt.Sprint(left) != fmt.Sprint(tt.want) || !strings.Contains(log.String(), tt.log) || tt.log == "" && log.Len() > 0 {
				t.Errorf("left %q, log %s", left, &log)
			}
		})
	}
}

// Without a state folder, or before the first server, there is nothing to do.
func TestNothing(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	SweepDead("", logger)
	SweepDead(filepath.Join(t.TempDir(), "none"), logger)
	if log.Len() > 0 {
		t.Errorf("log %s", &log)
	}
}

// BenchmarkSweepDead looks through the folders of a thousand servers that left
// only their audit logs.
func BenchmarkSweepDead(b *testing.B) {
	state := filepath.Join(b.TempDir(), "state")
	for range 1000 {
		i, err := instance.Open(state)
		if err != nil {
			b.Fatal(err)
		}
		os.Mkdir(filepath.Join(i.Dir, "audit"), 0o700)
		i.Close()
	}
	for b.Loop() {
		SweepDead(state, slog.New(slog.DiscardHandler))
	}
}
