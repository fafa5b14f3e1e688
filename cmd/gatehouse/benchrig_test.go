package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rig is what the benchmarks of whole processes share: the built programs and a
// home of their own.
type rig struct {
	gatehouse, cli string
	project        string
	env            []string
}

func newRig(b *testing.B) rig {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	r := rig{gatehouse: filepath.Join(dir, "bin", "gatehouse"), cli: filepath.Join(dir, "bin", "claude"), project: filepath.Join(dir, "project")}
	for name, source := range map[string]string{r.gatehouse: ".", r.cli: "./testdata/benchcli"} {
		if out, err := exec.Command("go", "build", "-o", name, source).CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", source, err, out)
		}
	}
	if err := os.Mkdir(r.project, 0o700); err != nil {
		b.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "XDG_CONFIG_HOME=") && !strings.HasPrefix(v, "GATEHOUSE_") {
			r.env = append(r.env, v)
		}
	}
	r.env = append(r.env, "HOME="+filepath.Join(dir, "home"))
	return r
}

func (r rig) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = r.project, r.env
	return c
}

// peer is a program spoken to in lines of JSON.
type peer struct {
	b       *testing.B
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  bytes.Buffer
	calls   int
}

// longestLine bounds a line of a peer, in bytes.
const longestLine = 4 << 20

func (r rig) start(b *testing.B, name string, args ...string) *peer {
	b.Helper()
	p := &peer{b: b, process: r.command(name, args...)}
	var err error
	if p.in, err = p.process.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p.out, p.process.Stderr = bufio.NewReaderSize(out, longestLine), &p.stderr
	if err := p.process.Start(); err != nil {
		b.Fatal(err)
	}
	return p
}

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// serve starts a server and returns when it has answered initialize.
func (r rig) serve(b *testing.B, args ...string) *peer {
	b.Helper()
	p := r.start(b, r.gatehouse, append([]string{"serve", "--cli", r.cli}, args...)...)
	p.write(initializeLine)
	if line := p.line(); !strings.Contains(string(line), `"serverInfo"`) {
		b.Fatalf("initialize: %s", line)
	}
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *peer) write(line string) {
	p.b.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.b.Fatal(err)
	}
}

// line returns the next line, valid until the next call.
func (p *peer) line() []byte {
	p.b.Helper()
	line, err := p.out.ReadSlice('\n')
	if err != nil {
		p.process.Wait() // its error is on stderr
		p.b.Fatalf("read from %s: %v\n%s", p.process.Path, err, &p.stderr)
	}
	return line
}

// until reads lines until one holds the text.
func (p *peer) until(text string) {
	p.b.Helper()
	for !strings.Contains(string(p.line()), text) {
	}
}

// stop lets the program end by itself.
func (p *peer) stop() {
	p.b.Helper()
	p.in.Close()
	if err := p.process.Wait(); err != nil {
		p.b.Fatalf("%s: %v\n%s", p.process.Path, err, &p.stderr)
	}
}

// toolAnswer is what the benchmarks look at in a tool's answer.
type toolAnswer struct {
	SessionID  string `json:"sessionId"`
	Status     string `json:"status"`
	NextCursor int64  `json:"nextCursor"`
	Truncated  bool   `json:"truncated"`
	Error      string `json:"error"`
	Result     struct {
		Result string `json:"result"`
	} `json:"result"`
	Events []struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	} `json:"events"`
	Actions []struct {
		RequestID string `json:"requestId"`
		Input     struct {
			Description string `json:"description"`
		} `json:"input"`
	} `json:"actions"`
}

// tool calls a tool and returns its answer, and when the answer was read.
func (p *peer) tool(name string, format string, args ...any) (toolAnswer, time.Time) {
	p.b.Helper()
	p.calls++
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, p.calls, name, fmt.Sprintf(format, args...)))
	line := p.line()
	read := time.Now()
	var answer struct {
		Error  json.RawMessage `json:"error"`
		Result struct {
			IsError           bool       `json:"isError"`
			StructuredContent toolAnswer `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Result.IsError || answer.Error != nil {
		p.b.Fatalf("%s: %v %.2000s", name, err, line)
	}
	return answer.Result.StructuredContent, read
}

// samples are durations of one kind.
type samples []time.Duration

func (s *samples) since(start time.Time) { *s = append(*s, time.Since(start)) }

// quantile returns the q-th part of the sorted samples, 0.5 for the median.
func (s samples) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// report replaces the mean, which ns/op is, by the median.
func (s samples) report(b *testing.B, unit string) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(s.quantile(0.5)), unit)
}
