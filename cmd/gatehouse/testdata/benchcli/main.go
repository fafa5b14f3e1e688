// Benchcli stands in for the Claude Code CLI in benchmarks. The prompt says what
// it does, and every line carries the time it was written, in nanoseconds since
// 1970, so that the host can tell how long it took:
//
//	idle        end the turn at once
//	rest        nothing: the turn goes on until stdin ends
//	beat RATE   RATE assistant messages a second until stdin ends
//	flood N     N assistant messages as fast as they are taken, then the end
//	fill N      N short assistant messages, then the end
//	ask         one question after the other; each answer is followed by a
//	            message with the time it was read
//	decide N    N questions that the policies answer, one after the other, then
//	            the end, with the times the answers took
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// message is what a line of stdin holds that matters here.
type message struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
	Response struct {
		RequestID string `json:"request_id"`
	} `json:"response"`
}

// settle is the pause between an answer and the next question, in which the
// host's client begins to wait.
const settle = 10 * time.Millisecond

var (
	lock sync.Mutex // of out: beat writes beside the answers to control requests
	out  = bufio.NewWriterSize(os.Stdout, 64<<10)
)

func send(format string, args ...any) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Fprintf(out, format+"\n", args...)
}

func flush() {
	lock.Lock()
	defer lock.Unlock()
	out.Flush()
}

func main() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.197 (Claude Code)")
		return
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		read := time.Now().UnixNano()
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch m.Type {
		case "control_request":
			control(m)
		case "control_response":
			if questions > 0 {
				decide()
				break
			}
			say(fmt.Sprintf("%d", read), "answered")
			flush()
			time.Sleep(settle)
			ask()
		case "user":
			play(m.Message.Content)
		}
		flush()
	}
}

// control answers what the host asks before a session, as a CLI that holds the
// host's settings does.
func control(m message) {
	body := `{}`
	if m.Request.Subtype == "get_settings" {
		body = `{"effective":{"permissions":{"ask":["*"]},"allowManagedHooksOnly":true},"sources":[]}`
	}
	send(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, m.RequestID, body)
}

func play(prompt string) {
	var n int
	word, count, _ := strings.Cut(prompt, " ")
	fmt.Sscan(count, &n)
	send(`{"type":"system","subtype":"init","session_id":"s","uuid":"u","cwd":"/","model":"bench","tools":["Bash","Read"],"mcp_servers":[],"permissionMode":"default","claude_code_version":"2.1.197"}`)
	switch word {
	case "rest":
		return
	case "beat":
		go beat(n) // ends with the process
		return
	case "ask":
		ask()
		return
	case "decide":
		questions = n + 1
		decide()
		return
	case "flood":
		for range n {
			say(stamp(), strings.Repeat("a line of text that a model wrote. ", 6))
		}
	case "fill":
		for range n {
			say(stamp(), "a few words")
		}
	}
	end("done")
}

func end(result string) {
	send(`{"type":"result","subtype":"success","is_error":false,"result":"` + result + `","num_turns":1,"duration_ms":1,"total_cost_usd":0,"session_id":"s","uuid":"u","permission_denials":[]}`)
}

// beat writes on a fixed schedule, so that a late line is not followed by a late
// schedule.
func beat(rate int) {
	every := time.Second / time.Duration(rate)
	for next := time.Now(); ; next = next.Add(every) {
		time.Sleep(time.Until(next))
		say(stamp(), "beat")
		flush()
	}
}

// questions are those of decide that are not answered yet, and took the times
// of the others, in microseconds.
var (
	questions int
	took      []string
	since     time.Time
)

// decide notes what the last answer took and puts the next question.
func decide() {
	if !since.IsZero() {
		took = append(took, fmt.Sprint(time.Since(since).Microseconds()))
	}
	if questions--; questions == 0 {
		end(strings.Join(took, " "))
		return
	}
	since = time.Now()
	send(`{"type":"control_request","request_id":"d%d","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"toolu_d%d","input":{"command":"git status --short","description":"%d"}}}`, questions, questions, questions)
}

var asked int

// ask puts a question that the built-in policies leave to a person.
func ask() {
	asked++
	send(`{"type":"control_request","request_id":"q%d","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"toolu_%d","input":{"command":"git push origin main","description":"%s"}}}`, asked, asked, stamp())
}

func stamp() string { return fmt.Sprintf("%d", time.Now().UnixNano()) }

func say(time, text string) {
	send(`{"type":"assistant","session_id":"s","uuid":"u","parent_tool_use_id":null,"message":{"id":"msg_1","type":"message","role":"assistant","model":"bench","content":[{"type":"text","text":"at %s %s"}],"stop_reason":null}}`, time, text)
}
