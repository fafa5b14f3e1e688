//go:build unix

package crashtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testproc"
)

// crashServer is a server that is about to be killed, as its client has it.
type crashServer struct {
	process *exec.Cmd // its guard
	pid     int       // of the server itself
	in      io.WriteCloser
	gone    chan struct{} // closed when it has said its last word
	struck  atomic.Bool   // it may be ending: one whose guard was killed does so in order

	mu      sync.Mutex
	calls   int
	waiting map[int]chan crashAnswer
}

var errServerGone = errors.New("the server is gone")

// crashAnswer is what the client looks at in an answer.
type crashAnswer struct {
	SessionID  string            `json:"sessionId"`
	Status     string            `json:"status"`
	NextCursor int64             `json:"nextCursor"`
	ResetTo    *int64            `json:"cursorResetTo"`
	Truncated  bool              `json:"truncated"`
	Events     []json.RawMessage `json:"events"`
	Actions    []struct {
		RequestID string `json:"requestId"`
	} `json:"actions"`
	Result *struct {
		Result string `json:"result"`
	} `json:"result"`
	Sessions []struct {
		SessionID string `json:"sessionId"`
		Status    string `json:"status"`
	} `json:"sessions"`

	refused string
}

// serve starts a server and returns when it has answered.
func (w *crashWorld) serve(t *testing.T) *crashServer {
	t.Helper()
	s := &crashServer{process: exec.Command(w.program, "serve", "--cwd", w.project), gone: make(chan struct{}), waiting: map[int]chan crashAnswer{}}
	s.process.Dir, s.process.Env = w.project, w.env
	log, err := os.OpenFile(filepath.Join(w.dir, "stderr"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.process.Stderr = log
	if s.in, err = s.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.process.Process.Kill() })
	go s.read(out) // ends with the server
	if _, err := s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"crash","version":"1"}}`); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("initialize: %v\n%s", err, text)
	}
	io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	s.pid = s.process.Process.Pid
	if children := testproc.ChildrenOf(s.pid); len(children) > 0 {
		s.pid = children[0]
	}
	return s
}

// read hands answers to those who wait. A line without an end was not said.
func (s *crashServer) read(out io.Reader) {
	defer close(s.gone)
	for r := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     *int `json:"id"`
			Error  json.RawMessage
			Result struct {
				IsError           bool            `json:"isError"`
				StructuredContent json.RawMessage `json:"structuredContent"`
			} `json:"result"`
		}
		var a crashAnswer
		if err := json.Unmarshal(line, &m); err != nil {
			a.refused = err.Error()
		} else if len(m.Result.StructuredContent) > 0 {
			if err := json.Unmarshal(m.Result.StructuredContent, &a); err != nil {
				a.refused = err.Error()
			}
		}
		if m.ID == nil {
			continue
		}
		if m.Result.IsError || m.Error != nil {
			a.refused = string(line)
		}
		s.mu.Lock()
		s.waiting[*m.ID] <- a
		s.mu.Unlock()
	}
}

func (s *crashServer) request(method, params string) (crashAnswer, error) {
	answered := make(chan crashAnswer, 1)
	s.mu.Lock()
	s.calls++
	s.waiting[s.calls] = answered
	_, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.calls, method, params)
	s.mu.Unlock()
	if err != nil {
		<-s.gone
	}
	var a crashAnswer
	select {
	case a = <-answered:
	case <-s.gone:
		select {
		case a = <-answered: // its last word
		default:
			return a, errServerGone
		}
	}
	switch {
	case a.refused == "":
		return a, nil
	case s.struck.Load(): // what is refused by a server that ends is no fault
		return a, errServerGone
	}
	return a, errors.New(a.refused)
}

func (s *crashServer) tool(name, format string, args ...any) (crashAnswer, error) {
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, fmt.Sprintf(format, args...)))
}

// strike kills the server, its guard, or both.
func (s *crashServer) strike() {
	s.struck.Store(true)
	guard := s.process.Process.Pid
	switch rand.IntN(8) {
	case 0:
		syscall.Kill(guard, syscall.SIGKILL)
	case 1:
		syscall.Kill(guard, syscall.SIGKILL)
		syscall.Kill(s.pid, syscall.SIGKILL)
	default:
		syscall.Kill(s.pid, syscall.SIGKILL)
	}
}

// end lets the server end in order.
func (s *crashServer) end() {
	s.in.Close()
	s.process.Wait()
}

// list returns the status of each session that is shown.
func (s *crashServer) list(t *testing.T) map[string]string {
	t.Helper()
	a, err := s.tool("claude_code_session", `{"action":"list"}`)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, one := range a.Sessions {
		listed[one.SessionID] = one.Status
		if one.Status == "running" || one.Status == "waiting_permission" {
			t.Errorf("session %s of an earlier server is %s", one.SessionID, one.Status)
		}
	}
	return listed
}

// compare reads a session from its beginning and looks for all that was told of it.
func (s *crashServer) compare(t *testing.T, told *toldSession) {
	t.Helper()
	open := map[string]bool{}
	next, found := int64(0), 0
	for {
		a, err := s.tool("claude_code_check", `{"action":"poll","sessionId":%q,"responseMode":"full","cursor":%d}`, told.id, next)
		if err != nil || a.ResetTo != nil || len(a.Actions) > 0 {
			t.Fatalf("session %s from event %d: reset to %v, %d questions are open, %v", told.id, next, a.ResetTo, len(a.Actions), err)
		}
		for _, raw := range a.Events {
			e := crashEvent{}
			if err := json.Unmarshal(raw, &e); err != nil || e.ID != next {
				t.Fatalf("session %s: event %d is %.200s, %v", told.id, next, raw, err)
			}
			if was, ok := told.events[e.ID]; ok && was != string(raw) {
				t.Errorf("session %s: event %d is %.500s, told was %.500s", told.id, e.ID, raw, was)
			} else if ok {
				found++
			}
			e.settle(open)
			next++
		}
		if !a.Truncated {
			break
		}
	}
	if found != len(told.events) || next < told.next {
		t.Errorf("session %s has %d events, and %d of the %d that were told, below %d", told.id, next, found, len(told.events), told.next)
	}
	for request := range open {
		t.Errorf("session %s: nobody tells what became of question %s", told.id, request)
	}
}

// crashEvent is what the client looks at in an event.
type crashEvent struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
	Data struct {
		RequestID string `json:"requestId"`
		ToolUseID string `json:"toolUseID"`
		Behavior  string `json:"behavior"`
	} `json:"data"`
}

// settle notes a question, or strikes it out when its answer is told.
func (e crashEvent) settle(open map[string]bool) {
	switch e.Type {
	case "permission_request":
		open[e.Data.RequestID] = true
	case "permission_result":
		delete(open, e.Data.RequestID)
	}
}

// toldSession is what a client was told of a session.
type toldSession struct {
	id      string
	next    int64            // event that was not told
	events  map[int64]string // by id
	results int
	allowed map[string]bool // calls, by the id of their use

	asked    map[string]bool // questions that are open, by request id
	answered map[string]bool // those whose answer was taken
	cutOff   int             // questions that were open at the end
}

// live has a session and tells begun of its first answer. It returns when the
// server is gone.
func (o *toldSession) live(s *crashServer, begun chan<- struct{}) error {
	a, err := s.tool("claude_code", `{"prompt":"go","sessionInitTimeoutMs":120000}`)
	if err != nil {
		return err
	}
	o.id = a.SessionID
	begun <- struct{}{}
	for turn := 1; ; {
		a, err := s.tool("claude_code_check", `{"action":"poll","sessionId":%q,"waitMs":20000,"responseMode":"full","cursor":%d}`, o.id, o.next)
		if err != nil {
			o.cutOff = len(o.asked)
			return err
		}
		if err := o.note(a); err != nil {
			return err
		}
		for _, action := range a.Actions {
			if _, err := s.tool("claude_code_check", `{"action":"respond_permission","sessionId":%q,"requestId":%q,"decision":"allow"}`, o.id, action.RequestID); err != nil {
				if !errors.Is(err, errServerGone) && strings.Contains(err.Error(), "PERMISSION_REQUEST_NOT_FOUND") {
					continue // it was answered, and is told of still
				}
				o.cutOff = len(o.asked)
				return err
			}
			o.answered[action.RequestID] = true
		}
		if a.Status == "idle" && !a.Truncated && turn == 1 {
			turn++
			if _, err := s.tool("claude_code_reply", `{"sessionId":%q,"prompt":"more"}`, o.id); err != nil {
				return err
			}
		}
	}
}

// note keeps what an answer tells.
func (o *toldSession) note(a crashAnswer) error {
	if a.ResetTo != nil {
		return fmt.Errorf("the cursor is reset from %d to %d", o.next, *a.ResetTo)
	}
	for _, raw := range a.Events {
		var e crashEvent
		if err := json.Unmarshal(raw, &e); err != nil || e.ID != o.next {
			return fmt.Errorf("event %d is %.200s: %w", o.next, raw, err)
		}
		o.events[e.ID] = string(raw)
		o.next++
		e.settle(o.asked)
		switch {
		case e.Type == "result":
			o.results++
		case e.Type == "permission_result" && e.Data.Behavior == "allow":
			o.allowed[e.Data.ToolUseID] = true
		}
	}
	if a.NextCursor != o.next {
		return fmt.Errorf("the next cursor is %d after event %d", a.NextCursor, o.next-1)
	}
	return nil
}

// processesNaming are the processes with a text in their command line.
func processesNaming(text string) (pids []int) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err == nil && len(lines) > 0 {
		for _, name := range lines {
			if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), text) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				pids = append(pids, pid)
			}
		}
		return pids
	}
	list, _ := exec.Command("ps", "-A", "-ww", "-o", "pid=,args=").Output()
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, text) {
			pid, _ := strconv.Atoi(strings.Fields(line)[0])
			pids = append(pids, pid)
		}
	}
	return pids
}
