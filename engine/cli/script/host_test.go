package script

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// frameTimeout bounds the wait for a frame; a test that needs it has failed.
const frameTimeout = 10 * time.Second

// host plays the other end of the pipe.
type host struct {
	t      *testing.T
	stdin  io.WriteCloser
	frames chan map[string]any // closed at the end of stdout
	stderr *syncBuffer
	wait   func() int
	sent   int
	closed sync.Once
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs a scenario; lines that are not JSON become {"type":"garbage"}.
func start(t *testing.T, sc Scenario, args ...string) *host {
	t.Helper()
	return startWatched(t, sc, nil, args...)
}

func startWatched(t *testing.T, sc Scenario, watch func(*process) func(), args ...string) *host {
	t.Helper()
	if err := sc.validate(); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, frames: make(chan map[string]any, 1024), stderr: &syncBuffer{}}
	stdin, stdout, wait := pipe(sc, h.stderr, args, watch)
	h.stdin, h.wait = stdin, wait
	go func() { // ends with stdout
		defer close(h.frames)
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				m := map[string]any{}
				if json.Unmarshal(line, &m) != nil {
					m = map[string]any{"type": "garbage", "line": string(line)}
				}
				h.frames <- m
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(h.close)
	return h
}

func (h *host) close() { h.closed.Do(func() { h.stdin.Close() }) }

func (h *host) line(s string) {
	h.t.Helper()
	if _, err := io.WriteString(h.stdin, s+"\n"); err != nil {
		h.t.Logf("write: %v", err)
	}
}

func (h *host) write(v any) {
	h.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		h.t.Fatal(err)
	}
	h.line(string(b))
}

// control sends a control_request and returns its id.
func (h *host) control(subtype string, kv ...any) string {
	h.t.Helper()
	h.sent++
	id := fmt.Sprintf("req_%d", h.sent)
	req := map[string]any{"subtype": subtype}
	for i := 0; i+1 < len(kv); i += 2 {
		req[kv[i].(string)] = kv[i+1]
	}
	h.write(map[string]any{"type": "control_request", "request_id": id, "request": req})
	return id
}

// hooks registers callbacks of the given events and waits for the answer.
func (h *host) initialize(events ...string) {
	h.t.Helper()
	hooks := map[string]any{}
	for _, e := range events {
		hooks[e] = []any{map[string]any{"hookCallbackIds": []string{e}}}
	}
	h.control("initialize", "hooks", hooks)
	h.until("control_response")
}

func (h *host) say(text string) {
	h.t.Helper()
	h.write(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
}

func (h *host) answer(frame map[string]any, body any) {
	h.t.Helper()
	h.write(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": frame["request_id"], "response": body}})
}

func (h *host) answerError(frame map[string]any, text string) {
	h.t.Helper()
	h.write(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": frame["request_id"], "error": text}})
}

func (h *host) allow(frame map[string]any) {
	h.t.Helper()
	h.answer(frame, map[string]any{"behavior": "allow", "updatedInput": at(frame, "request", "input")})
}

// next returns the next frame, nil at the end.
func (h *host) next() map[string]any {
	h.t.Helper()
	select {
	case f := <-h.frames:
		return f
	case <-time.After(frameTimeout):
		h.t.Fatal("no frame in time")
		return nil
	}
}

// until returns the next frame of the kind ("type" or "type/subtype").
func (h *host) until(kind string) map[string]any {
	h.t.Helper()
	for {
		f := h.next()
		if f == nil {
			h.t.Fatalf("stdout ended before %s; stderr: %s", kind, h.stderr)
		}
		if kindOf(f) == kind || strings.HasPrefix(kindOf(f), kind+"/") {
			return f
		}
		if kindOf(f) == "result" || strings.HasPrefix(kindOf(f), "result/") {
			h.t.Fatalf("turn ended before %s: %v", kind, f)
		}
	}
}

// end closes stdin, drains stdout and returns the exit code.
func (h *host) end() int {
	h.t.Helper()
	h.close()
	for h.next() != nil {
	}
	return h.wait()
}

// kindOf is type/subtype, for requests type/request.subtype.
func kindOf(f map[string]any) string {
	kind, _ := f["type"].(string)
	for _, path := range [][]string{{"subtype"}, {"request", "subtype"}} {
		if s, ok := at(f, path...).(string); ok {
			return kind + "/" + s
		}
	}
	return kind
}

// at follows a path of object keys; "0" is the first element of an array.
func at(v any, path ...string) any {
	for _, k := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[k]
		case []any:
			if k != "0" || len(x) == 0 {
				return nil
			}
			v = x[0]
		default:
			return nil
		}
	}
	return v
}

// toolResult returns content and is_error of a tool_result frame.
func toolResult(f map[string]any) (string, bool) {
	block := at(f, "message", "content", "0")
	failed, _ := at(block, "is_error").(bool)
	return fmt.Sprint(at(block, "content")), failed
}

func bash(command string) Tool {
	return Tool{Name: "Bash", Input: map[string]any{"command": command}, Output: quoted("output")}
}

func oneTool(t Tool) Scenario {
	return Scenario{Turns: [][]Step{{{Tool: &t}, {Text: "done"}}}}
}
