package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkServe measures what a client of a running server waits for, with the
// built programs as processes and the built-in policies and redaction in force.
// Every figure is a median unless its name says otherwise.
func BenchmarkServe(b *testing.B) {
	r := newRig(b)
	b.Run("start", func(b *testing.B) { benchmarkStart(b, r) })
	b.Run("session", func(b *testing.B) { benchmarkSession(b, r) })
	b.Run("question", func(b *testing.B) { benchmarkQuestion(b, r) })
	b.Run("events", func(b *testing.B) { benchmarkEvents(b, r) })
	b.Run("bulk", func(b *testing.B) { benchmarkBulk(b, r) })
	b.Run("poll", func(b *testing.B) { benchmarkPoll(b, r) })
}

// idleFor is how long a server is left alone before its memory is read.
const idleFor = time.Second

// benchmarkStart goes from the start of the process to the answer to initialize,
// which comes only when the policies are loaded. Node starts in turn with it, so
// that both meet the same load.
func benchmarkStart(b *testing.B, r rig) {
	node, _ := exec.LookPath("node")
	var start, other samples
	for b.Loop() {
		begin := time.Now()
		p := r.serve(b)
		start.since(begin)
		p.stop()
		if node == "" {
			continue
		}
		begin = time.Now()
		if err := r.command(node, "-e", "0").Run(); err != nil {
			b.Fatal(err)
		}
		other.since(begin)
	}
	start.report(b, "ms/start")
	b.ReportMetric(milliseconds(start.quantile(0)), "ms-min")
	if node != "" {
		b.ReportMetric(milliseconds(other.quantile(0.5)), "node-ms")
		b.ReportMetric(float64(start.quantile(0.5))/float64(other.quantile(0.5)), "ratio-to-node")
	}
	p := r.serve(b)
	time.Sleep(idleFor)
	server, guard := serverOf(b, p), p.process.Process.Pid
	if kib := residentKiB(server); kib > 0 {
		b.ReportMetric(float64(kib)/1024, "RSS-MiB")
	}
	if kib := residentKiB(guard); kib > 0 && guard != server {
		b.ReportMetric(float64(kib)/1024, "guard-RSS-MiB") // most of it is shared with the server
	}
	p.stop()
}

// residentKiB is 0 where the system does not tell.
func residentKiB(pid int) (kib int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	fmt.Sscan(after, &kib)
	return kib
}

// benchmarkSession goes from the call of claude_code to its answer, and leaves
// out what the CLI alone takes from its start to its first word, measured in turn.
func benchmarkSession(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	var whole, alone samples
	for b.Loop() {
		begin := time.Now()
		a, read := p.tool("claude_code", `{"prompt":"idle"}`)
		whole = append(whole, read.Sub(begin))
		p.tool("claude_code_session", `{"action":"cancel","sessionId":%q}`, a.SessionID)
		begin = time.Now()
		cli := r.start(b, r.cli)
		cli.write(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}`)
		cli.until("control_response")
		cli.write(`{"type":"control_request","request_id":"2","request":{"subtype":"get_settings"}}`)
		cli.until("control_response")
		cli.write(`{"type":"user","message":{"role":"user","content":"idle"}}`)
		cli.until(`"init"`)
		alone.since(begin)
		cli.stop()
	}
	whole.report(b, "ms/session")
	b.ReportMetric(milliseconds(alone.quantile(0.5)), "cli-ms")
	b.ReportMetric(milliseconds(whole.quantile(0.5)-alone.quantile(0.5)), "own-ms")
}

// benchmarkQuestion measures a question of the CLI until a waiting client has
// it, its judgement by the policies included, and the client's answer from its
// call until the CLI has read it.
func benchmarkQuestion(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	s, _ := p.tool("claude_code", `{"prompt":"ask","permissionRequestTimeoutMs":300000}`)
	var asked, answered samples
	var respond time.Time
	cursor := int64(0)
	for b.Loop() {
		for {
			a, read := p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":10000,"cursor":%d}`, s.SessionID, cursor)
			cursor = a.NextCursor
			for _, at := range stamps(b, a) {
				answered = append(answered, at.Sub(respond))
			}
			if len(a.Actions) == 0 {
				continue
			}
			asked = append(asked, read.Sub(nanoseconds(b, a.Actions[0].Input.Description)))
			respond = time.Now()
			p.tool("claude_code_check", `{"action":"respond_permission","sessionId":%q,"requestId":%q,"decision":"allow"}`, s.SessionID, a.Actions[0].RequestID)
			break
		}
	}
	asked.report(b, "ms/question")
	if len(answered) > 0 {
		b.ReportMetric(milliseconds(answered.quantile(0.5)), "ms/answer")
	}
}

// stamps returns the times that the CLI put into the messages of a page.
func stamps(b *testing.B, a toolAnswer) (list []time.Time) {
	b.Helper()
	for _, e := range a.Events {
		if m := stampText.FindSubmatch(e.Data); m != nil {
			list = append(list, nanoseconds(b, string(m[1])))
		}
	}
	return list
}

var stampText = regexp.MustCompile(`"at ([0-9]+) `)

func nanoseconds(b *testing.B, digits string) time.Time {
	b.Helper()
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Unix(0, n)
}

// eventRate is the load under which the way of an event is measured, in events a second.
const eventRate = 1000

// benchmarkEvents measures an event from the CLI's line until a waiting client
// has it, for every event of a steady stream.
func benchmarkEvents(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	s, _ := p.tool("claude_code", `{"prompt":"beat %d"}`, eventRate)
	var way samples
	cursor, begin := int64(0), time.Now()
	for b.Loop() {
		a, read := p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":10000,"responseMode":"full","cursor":%d}`, s.SessionID, cursor)
		cursor = a.NextCursor
		for _, at := range stamps(b, a) {
			way = append(way, read.Sub(at))
		}
	}
	way.report(b, "ms/event")
	b.ReportMetric(milliseconds(way.quantile(0.99)), "p99-ms")
	b.ReportMetric(float64(len(way))/time.Since(begin).Seconds(), "events/s")
}

// bulkEvents is the length of one burst.
const bulkEvents = 60_000

// benchmarkBulk measures how fast the events of a CLI that does not pause are
// taken in, from the call that starts the session until a waiting client learns
// that the turn is over.
func benchmarkBulk(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	var bursts samples
	for b.Loop() {
		begin := time.Now()
		a, _ := p.tool("claude_code", `{"prompt":"flood %d"}`, bulkEvents)
		for a.Status != "idle" {
			a, _ = p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":10000,"includeEvents":false}`, a.SessionID)
		}
		bursts.since(begin)
		p.tool("claude_code_session", `{"action":"cancel","sessionId":%q}`, a.SessionID)
	}
	bursts.report(b, "ms/burst")
	b.ReportMetric(bulkEvents/bursts.quantile(0.5).Seconds(), "events/s")
}

// pageEvents is the length of the page that is polled.
const pageEvents = 1000

// benchmarkPoll measures one poll of a long page, from the call until the client
// has read the answer, in either mode.
func benchmarkPoll(b *testing.B, r rig) {
	p := r.serve(b)
	defer p.stop()
	s, _ := p.tool("claude_code", `{"prompt":"fill %d"}`, pageEvents)
	for a := s; a.Status != "idle"; {
		a, _ = p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":10000,"includeEvents":false}`, s.SessionID)
	}
	var minimal, full samples
	poll := func(mode string, into *samples) {
		begin := time.Now()
		a, read := p.tool("claude_code_check", `{"action":"poll","sessionId":%q,"cursor":0,"maxEvents":%d,"responseMode":%q}`, s.SessionID, pageEvents, mode)
		if *into = append(*into, read.Sub(begin)); len(a.Events) != pageEvents {
			b.Fatalf("page of %d events, want %d", len(a.Events), pageEvents)
		}
	}
	for b.Loop() {
		poll("minimal", &minimal)
		poll("full", &full)
	}
	minimal.report(b, "ms/poll")
	b.ReportMetric(milliseconds(full.quantile(0.5)), "ms/poll-full")
}
