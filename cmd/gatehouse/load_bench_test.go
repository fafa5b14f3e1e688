package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkLoad measures a server with many sessions at once, as processes, with
// policy, redaction, journal and audit log as they are by default. Each part is
// one round, however long the benchmark is asked to run: -benchtime 1x.
func BenchmarkLoad(b *testing.B) {
	r := newRig(b)
	r.configure(b, "[limits]\nmax_concurrent = 1000\n")
	b.Run("sessions", func(b *testing.B) { benchmarkSessions(b, r) })
	b.Run("events", func(b *testing.B) { benchmarkManyEvents(b, r) })
	b.Run("decisions", func(b *testing.B) { benchmarkManyDecisions(b, r) })
}

// configure writes the file that the rig's home has.
func (r rig) configure(b *testing.B, text string) {
	b.Helper()
	home := filepath.Join(filepath.Dir(r.project), "home")
	folder := filepath.Join(home, ".config", "gatehouse")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "gatehouse.toml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// result is what the benchmarks look at in a JSON-RPC answer.
type result struct {
	ID     int             `json:"id"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		IsError           bool       `json:"isError"`
		StructuredContent toolAnswer `json:"structuredContent"`
	} `json:"result"`
}

// parallel calls a tool n times at once and returns the sessions of the answers.
func (p *peer) parallel(n int, name string, arguments func(i int) string) (sessions []string) {
	p.b.Helper()
	first := p.calls + 1
	go func() { // ends when all is written, or with the server
		for i := range n {
			fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", first+i, name, arguments(i))
		}
	}()
	p.calls += n
	for len(sessions) < n {
		line := p.line()
		var a result
		if err := json.Unmarshal(line, &a); err != nil || a.Result.IsError || a.Error != nil {
			p.b.Fatalf("%s: %v %.2000s", name, err, line)
		}
		if a.ID >= first {
			sessions = append(sessions, a.Result.StructuredContent.SessionID)
		}
	}
	return sessions
}

// manySessions are those of the figure for memory.
const manySessions = 1000

// benchmarkSessions is the memory of a server while a thousand sessions run, each
// with a process and a turn, and the time to start and to end them.
func benchmarkSessions(b *testing.B, r rig) {
	p := r.serve(b)
	time.Sleep(idleFor)
	server := serverOf(b, p)
	before := residentKiB(server)
	begin := time.Now()
	p.parallel(manySessions, "claude_code", func(int) string { return `{"prompt":"rest","sessionInitTimeoutMs":300000}` })
	started := time.Since(begin)
	time.Sleep(5 * idleFor)
	rss := residentKiB(server)
	begin = time.Now()
	p.stop()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(rss)/1024, "RSS-MiB")
	b.ReportMetric(float64(rss-before)/manySessions, "KiB/session")
	b.ReportMetric(milliseconds(started)/manySessions, "ms/start")
	b.ReportMetric(time.Since(begin).Seconds(), "s/stop-all")
}

// serverOf is the process that serves: a guard may stand before it.
func serverOf(b *testing.B, p *peer) int {
	b.Helper()
	pid := p.process.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return pid // not Linux
	}
	for field := range strings.FieldsSeq(string(children)) {
		args, _ := os.ReadFile("/proc/" + field + "/cmdline") // one that ended is none
		if strings.Contains(string(args), "\x00serve\x00") {
			child, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			return child
		}
	}
	return pid
}

// The sessions of the figure for events, and what each of them says.
const (
	floodingSessions = 50
	floodedEvents    = 10_000
)

// benchmarkManyEvents is what all sessions together can say in a second.
func benchmarkManyEvents(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	begin := time.Now()
	sessions := p.parallel(floodingSessions, "claude_code", func(int) string { return fmt.Sprintf(`{"prompt":"flood %d"}`, floodedEvents) })
	for _, id := range sessions {
		p.idle(id)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(floodingSessions*floodedEvents/time.Since(begin).Seconds(), "events/s")
}

// idle waits until a session has ended its turn, and returns its result.
func (p *peer) idle(id string) string {
	p.b.Helper()
	for {
		a, _ := p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":50000,"cursor":900000,"maxEvents":1}`, id)
		if a.Status == "idle" {
			return a.Result.Result
		}
	}
}

// The sessions that wait for decisions at once, and the decisions of each.
const (
	decidingSessions = 256
	decisionsEach    = 20
)

// benchmarkManyDecisions is how long the CLIs of many sessions wait for an answer
// that the policies give, recorded durably.
func benchmarkManyDecisions(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	var all samples
	sessions := p.parallel(decidingSessions, "claude_code", func(int) string { return `{"prompt":"idle","sessionInitTimeoutMs":300000}` })
	for _, id := range sessions {
		p.idle(id)
	}
	begin := time.Now()
	p.parallel(decidingSessions, "claude_code_reply", func(i int) string {
		return fmt.Sprintf(`{"prompt":"decide %d","sessionId":%q}`, decisionsEach, sessions[i])
	})
	for _, id := range sessions {
		for field := range strings.FieldsSeq(p.idle(id)) {
			micros, err := strconv.Atoi(field)
			if err != nil {
				b.Fatalf("session %s: %v", id, err)
			}
			all = append(all, time.Duration(micros)*time.Microsecond)
		}
	}
	if len(all) != decidingSessions*decisionsEach {
		b.Fatalf("%d decisions", len(all))
	}
	b.ReportMetric(float64(len(all))/time.Since(begin).Seconds(), "decisions/s")
	all.report(b, "ms-p50")
	b.ReportMetric(milliseconds(all.quantile(0.99)), "ms-p99")
}
