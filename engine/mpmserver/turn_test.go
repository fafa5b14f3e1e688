package mpmserver

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

func names(m map[string]any) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// kinds are "type/subtype" of the messages of an answer.
func kinds(m map[string]any) []string {
	var list []string
	for _, v := range m["messages"].([]any) {
		message := v.(map[string]any)
		kind, _ := message["type"].(string)
		if sub, ok := message["subtype"].(string); ok {
			kind += "/" + sub
		}
		list = append(list, kind)
	}
	return list
}

func subset(list, of []string) bool {
	i := 0
	for _, v := range of {
		if i < len(list) && list[i] == v {
			i++
		}
	}
	return i == len(list)
}

func TestStartAndContinue(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[
		[{"text":"I look."},{"tool":{"name":"Bash","input":{"command":"ok ls"},"output":"a"}},{"text":"done"}],
		[{"text":"second"}]]}`})
	a := r.must("mpm_session_start", `{"prompt":"go","no_hooks":false,"timeout":600}`)
	if got := names(a); !slices.Equal(got, []string{"error", "messages", "output", "session_id", "success"}) {
		t.Errorf("members %v", got)
	}
	if a["success"] != true || a["error"] != nil || a["output"] != "I look.\ndone" {
		t.Errorf("answer %v", a)
	}
	if got := kinds(a); !subset([]string{"system/init", "assistant", "assistant", "user", "assistant", "result/success"}, got) || got[len(got)-1] != "result/success" {
		t.Errorf("messages %v", got)
	}
	id := a["session_id"].(string)
	b := r.must("mpm_session_continue", `{"session_id":"`+id+`","prompt":"more"}`)
	if b["session_id"] != id || b["output"] != "second" || strings.Contains(encoded(t, b), "I look.") {
		t.Errorf("the second turn's answer has something of the first: %v", b)
	}
	s := r.status(id)
	if s["found"] != true || s["status"] != "completed" || s["message_count"] != 2.0 || s["last_output"] != "second" || s["working_directory"] != r.root {
		t.Errorf("status %v", s)
	}
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)
	for _, name := range []string{"start_time", "last_activity"} {
		if !form.MatchString(s[name].(string)) {
			t.Errorf("%s %v", name, s[name])
		}
	}
	want := []string{"found", "last_activity", "last_output", "message_count", "session_id", "start_time", "status", "working_directory"}
	if got := names(s); !slices.Equal(got, want) {
		t.Errorf("members of status %v", got)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestForksReportTheirOwnID(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"base"}]],"resume_turns":[[{"text":"branch"}]]}`})
	base := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	seen := map[any]bool{base: true}
	for range 2 {
		a := r.must("mpm_session_continue", `{"session_id":"`+base+`","prompt":"branch","fork":true}`)
		if seen[a["session_id"]] || a["output"] != "branch" {
			t.Errorf("fork: %v", a)
		}
		seen[a["session_id"]] = true
		if s := r.status(a["session_id"].(string)); s["status"] != "completed" || s["message_count"] != 1.0 {
			t.Errorf("fork's status: %v", s)
		}
	}
	if s := r.status(base); s["message_count"] != 1.0 || s["last_output"] != "base" {
		t.Errorf("the original: %v", s)
	}
}

func TestFailedTurn(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"half"},{"exit":{"code":3,"stderr":"boom"}}]]}`})
	a, isError := r.use("mpm_session_start", `{"prompt":"go"}`)
	if want := []string{"error", "error_type", "messages", "output", "session_id", "success"}; !isError || !slices.Equal(names(a), want) {
		t.Errorf("isError %v, members %v", isError, names(a))
	}
	text, _ := a["error"].(string)
	if a["success"] != false || a["error_type"] != "SessionError" || a["output"] != "half" || a["session_id"] == "" ||
		!strings.Contains(text, "middle of a turn") || strings.HasPrefix(text, "Error [") {
		t.Errorf("answer %v", a)
	}
	if got := kinds(a); got[len(got)-1] != "result/error_during_execution" {
		t.Errorf("messages %v", got)
	}
	if s := r.status(a["session_id"].(string)); s["status"] != "error" || s["message_count"] != 1.0 {
		t.Errorf("status %v", s)
	}
}

func TestRefusedStart(t *testing.T) {
	r := serve(t, setup{scenario: `{}`})
	r.admit.refuse(admission.Start)
	a, isError := r.use("mpm_session_start", `{"prompt":"go"}`)
	if !isError || a["success"] != false || a["session_id"] != "" || a["error_type"] != "SessionError" ||
		!strings.Contains(a["error"].(string), "test.refused") || a["output"] != "" || len(a["messages"].([]any)) != 0 {
		t.Errorf("answer %v", a)
	}
	if l := r.must("mpm_session_list", `{}`); l["count"] != 0.0 {
		t.Errorf("a refused start left %v", l)
	}
}

// Policies see what is asked for under the names of the engine's parameters, the
// server's profile among it.
func TestParametersOfAStart(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"x"}]]}`, tools: Options{
		Model: "m", AllowedTools: []string{"Read"}, DisallowedTools: []string{"WebFetch"}, TicketTools: []string{"mcp__ticket__*"},
	}})
	r.must("mpm_session_start", `{"prompt":"go"}`)
	r.must("mpm_session_start", `{"prompt":"go","no_tickets":true,"no_hooks":true,"working_directory":"."}`)
	for i, want := range []map[string]string{
		{"prompt": `"go"`, "model": `"m"`, "allowedTools": `["Read"]`, "disallowedTools": `["WebFetch"]`},
		{"prompt": `"go"`, "model": `"m"`, "allowedTools": `["Read"]`, "disallowedTools": `["WebFetch","mcp__ticket__*"]`, "cwd": encoded(t, r.root), "noTickets": "true", "noHooks": "true"},
	} {
		got := r.admit.started()[i].Parameters
		for name, value := range want {
			if string(got[name]) != value {
				t.Errorf("start %d: %s is %s, want %s", i, name, got[name], value)
			}
		}
		if len(got) != len(want) {
			t.Errorf("start %d: parameters %v", i, got)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	for _, tt := range []struct {
		name, base, asked, want string // below the root; "" is the root
	}{
		{"none", "", "", ""},
		{"the server's", "a", "", "a"},
		{"relative to the first root", "", "a/b", "a/b"},
		{"relative to the server's", "a", "b", "a/b"},
		{"absolute", "a", "/c", "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := serve(t, setup{scenario: `{"turns":[[{"reveal":"cwd"}]]}`})
			mkdirs(t, r.root, "a/b", "c")
			o := Options{}
			if tt.base != "" {
				o.WorkingDirectory = filepath.Join(r.root, tt.base)
			}
			r.serveTools(o)
			args := map[string]string{"prompt": "go"}
			if tt.asked != "" {
				args["working_directory"] = strings.Replace(tt.asked, "/c", r.root+"/c", 1)
			}
			a := r.must("mpm_session_start", encoded(t, args))
			if want := filepath.Join(r.root, tt.want); !strings.Contains(a["output"].(string), encoded(t, want)) {
				t.Errorf("ran in %v, want %s", a["output"], want)
			}
		})
	}
	r := serve(t, setup{scenario: `{"turns":[[{"reveal":"cwd"}]]}`})
	if a := r.must("mpm_session_start", `{"prompt":"go","working_directory":""}`); !strings.Contains(a["output"].(string), encoded(t, r.root)) {
		t.Errorf("an empty name: %v", a)
	}
	if a, isError := r.use("mpm_session_start", `{"prompt":"go","working_directory":"nowhere"}`); !isError || !strings.Contains(a["error"].(string), "no such folder") {
		t.Errorf("a folder that is not there: %v", a)
	}
}

func TestTimeout(t *testing.T) {
	hang := `{"turns":[[{"text":"ready"}],[{"wait_interrupt":true}]],"resume_turns":[[{"text":"again"}]]}`
	for _, tt := range []struct {
		name, args, want string
		tools            Options
	}{
		{"of the call", `"timeout":0.5`, "Session timed out after 0.5s", Options{}},
		{"of no time", `"timeout":1e-300`, "Session timed out after 1e-300s", Options{}},
		{"of the server", `"timeout":0`, "Session timed out after 10.5s", Options{Timeout: 10500 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, setup{scenario: hang, tools: tt.tools})
			id := r.must("mpm_session_start", `{"prompt":"go","timeout":100}`)["session_id"].(string)
			a, isError := r.use("mpm_session_continue", `{"prompt":"go","session_id":"`+id+`",`+tt.args+`}`)
			if !isError || a["error"] != tt.want || a["error_type"] != "SessionError" || a["session_id"] != id {
				t.Fatalf("answer %v", a)
			}
			if s := r.status(id); s["status"] != "error" {
				t.Errorf("status %v", s)
			}
			if b := r.must("mpm_session_continue", `{"session_id":"`+id+`","prompt":"on","timeout":100}`); b["output"] != "again" {
				t.Errorf("continued: %v", b)
			}
		})
	}
}

// Whatever a start is broken off at by the end of its time, that is what it is told as.
func TestAStartWithoutTime(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"x"}]]}`})
	for range 5 {
		a, isError := r.use("mpm_session_start", `{"prompt":"go","timeout":0.0001}`)
		if !isError || a["error"] != "Session timed out after 0.0001s" || a["error_type"] != "SessionError" || a["session_id"] == "" {
			t.Fatalf("answer %v", a)
		}
		if b := r.must("mpm_session_continue", `{"prompt":"go","session_id":"`+a["session_id"].(string)+`"}`); b["output"] != "x" {
			t.Errorf("continued: %v", b)
		}
	}
}

func TestRefusedArguments(t *testing.T) {
	r := serve(t, setup{scenario: `{}`})
	for _, tt := range []struct{ tool, args, want string }{
		{"mpm_session_start", `{}`, "prompt: is required"},
		{"mpm_session_start", `{"prompt":" "}`, "blank"},
		{"mpm_session_start", `{"prompt":"x","no_hook":true}`, `"no_hook": unknown argument; did you mean "no_hooks"?`},
		{"mpm_session_start", `{"prompt":"x","no_hooks":"yes"}`, "no_hooks: want a boolean, got a string"},
		{"mpm_session_start", `{"prompt":"x","prompt":"y"}`, `given twice`},
		{"mpm_session_start", `{"prompt":"x","timeout":-1}`, "timeout: want seconds from 0 to 86400, got -1"},
		{"mpm_session_start", `{"prompt":"x","timeout":86401}`, "timeout: want seconds from 0 to 86400, got 86401"},
		{"mpm_session_start", `{"prompt":"x","working_directory":" "}`, "working_directory: "},
		{"mpm_session_continue", `{"prompt":"x"}`, "session_id: is required"},
		{"mpm_session_continue", `{"session_id":"s1","prompt":null}`, "prompt: is required"},
		{"mpm_session_continue", `{"session_id":"s1","prompt":"x"}`, "s1"},
		{"mpm_session_status", `{"session_id":7}`, "session_id: want a string, got a number"},
		{"mpm_session_stop", `{"session_id":"s1","force":1}`, "force: want a boolean"},
		{"mpm_session_list", `{"statu":"active"}`, "unknown argument"},
	} {
		t.Run(tt.tool+" "+tt.want, func(t *testing.T) {
			a, isError := r.use(tt.tool, tt.args)
			text, _ := a["error"].(string)
			if !isError || a["error_type"] != "SessionError" || !strings.Contains(text, tt.want) {
				t.Errorf("answer %v", a)
			}
			if strings.Contains(tt.args, `"s1"`) && a["session_id"] != "s1" {
				t.Errorf("session id %v", a["session_id"])
			}
			if tt.tool == "mpm_session_start" && (a["success"] != false || a["session_id"] != "" || a["messages"] == nil) {
				t.Errorf("shape %v", a)
			}
		})
	}
}

func TestAContinueOfABusySessionIsRefused(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"wait_interrupt":true}]]}`})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := r.background(ctx, "mpm_session_start", `{"prompt":"go"}`)
	id := r.one("active", 1)
	a, isError := r.use("mpm_session_continue", `{"session_id":"`+id+`","prompt":"more"}`)
	if !isError || a["error_type"] != "SessionError" || !strings.Contains(a["error"].(string), "session is running; wait") || a["session_id"] != id {
		t.Errorf("answer %v", a)
	}
	r.must("mpm_session_stop", `{"session_id":"`+id+`","force":true}`)
	if b, isError := first.wait(t); !isError || b["error"] != "Session stopped" {
		t.Errorf("the first call: %v", b)
	}
}

// What needs a person can be answered by session id, here through the other family.
func TestQuestionsInABlockingCall(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"tool":{"name":"Bash","input":{"command":"push"},"output":"pushed"}},{"text":"done"}]]}`,
		engine: func(o *engine.Options) { o.ApprovalTimeout = patience }})
	call := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	id := r.one("active", 1)
	poll := func(more string) map[string]any {
		return r.must("claude_code_check", `{"action":"poll","sessionId":"`+id+`","waitMs":5000`+more+`}`)
	}
	var asked []any
	until(t, "a question", func() bool { asked, _ = poll("")["actions"].([]any); return len(asked) == 1 })
	request := asked[0].(map[string]any)["requestId"].(string)
	r.must("claude_code_check", `{"action":"respond_permission","sessionId":"`+id+`","decision":"allow","requestId":"`+request+`"}`)
	a, isError := call.wait(t)
	if isError || a["output"] != "done" || !strings.Contains(encoded(t, a["messages"]), "pushed") {
		t.Errorf("answer %v", a)
	}
	if got := kinds(a); !subset([]string{"gatehouse/permission_request", "gatehouse/permission_result", "user"}, got) {
		t.Errorf("messages %v", got)
	}
}
