package mpmserver

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

func TestList(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"done"}]]}`})
	if l := r.must("mpm_session_list", `{}`); encoded(t, l) != `{"active_count":0,"count":0,"sessions":[]}` {
		t.Errorf("empty: %v", l)
	}
	var want []string
	for range 3 {
		want = append(want, r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string))
	}
	want = append(want, r.must("claude_code", `{"prompt":"go","waitMs":50000}`)["sessionId"].(string))
	l := r.must("mpm_session_list", `{"status":null}`)
	var got []string
	for _, s := range l["sessions"].([]any) {
		got = append(got, s.(map[string]any)["session_id"].(string))
	}
	if !slices.Equal(got, want) || l["count"] != 4.0 || l["active_count"] != 0.0 {
		t.Errorf("list %v, want %v", l, want)
	}
	for _, status := range statuses {
		n := r.must("mpm_session_list", `{"status":"`+status+`"}`)["count"]
		if want := map[string]any{"completed": 4.0}[status]; n != want && (want != nil || n != 0.0) {
			t.Errorf("%s: %v", status, n)
		}
	}
	a, isError := r.use("mpm_session_list", `{"status":"idle"}`)
	if !isError || a["error"] != "Invalid status filter: idle" || encoded(t, a["valid_statuses"]) != `["starting","active","completed","error","stopped"]` {
		t.Errorf("wrong filter: %v", a)
	}
	if other := r.must("claude_code_session", `{"action":"list"}`)["sessions"].([]any); len(other) != 4 {
		t.Errorf("the other family lists %d", len(other))
	}
}

func TestWhatPolicyLetsBeShown(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"done"}]]}`})
	id := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	r.admit.mu.Lock()
	r.admit.plain = true
	r.admit.mu.Unlock()
	s := r.status(id)
	if dir, there := s["working_directory"]; dir != "" || !there || s["status"] != "completed" {
		t.Errorf("without what is sensitive: %v", s)
	}
	l := r.must("mpm_session_list", `{}`)["sessions"].([]any)
	if len(l) != 1 || l[0].(map[string]any)["working_directory"] != "" {
		t.Errorf("list: %v", l)
	}
	r.admit.refuse(admission.List)
	for tool, args := range map[string]string{"mpm_session_list": `{}`, "mpm_session_status": `{"session_id":"` + id + `"}`} {
		a, isError := r.use(tool, args)
		if !isError || a["error_type"] != "SessionError" || !strings.Contains(a["error"].(string), "test.refused") {
			t.Errorf("%s: %v", tool, a)
		}
	}
}

func TestParallelSessions(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"${PROMPT}"},{"sleep_ms":20},{"text":"end"}],[{"text":"then ${PROMPT}"}]]}`,
		engine: func(o *engine.Options) { o.MaxConcurrent = 3 }})
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			a, isError, err := r.call(t.Context(), "mpm_session_start", fmt.Sprintf(`{"prompt":"number %d"}`, i))
			if err != nil || isError || a["output"] != fmt.Sprintf("number %d\nend", i) {
				t.Errorf("start %d: %v, %v", i, a, err)
				return
			}
			ids[i] = a["session_id"].(string)
			a, isError, err = r.call(t.Context(), "mpm_session_continue", fmt.Sprintf(`{"session_id":"%s","prompt":"again %d"}`, ids[i], i))
			if err != nil || isError || a["output"] != fmt.Sprintf("then again %d", i) {
				t.Errorf("continue %d: %v, %v", i, a, err)
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if got := slices.Compact(ids); len(got) != 8 {
		t.Errorf("ids %v", got)
	}
}

// A client that reads any text of an answer must not read a secret; rig.call looks.
func TestSecretsAreCovered(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"it is ` + secret + `"},
		{"tool":{"name":"Bash","input":{"command":"ok ` + secret + `"},"output":"` + secret + `"}},{"text":"` + secret + `"}],
		[{"exit":{"code":1,"stderr":"` + secret + `"}}]]}`})
	a := r.must("mpm_session_start", `{"prompt":"go `+secret+`"}`)
	if a["output"] != "it is [x]\n[x]" || !strings.Contains(encoded(t, a["messages"]), "ok [x]") {
		t.Errorf("answer %v", a)
	}
	id := a["session_id"].(string)
	if s := r.status(id); s["last_output"] != "it is [x]\n[x]" {
		t.Errorf("status %v", s)
	}
	r.must("mpm_session_list", `{}`)
	if b, isError := r.use("mpm_session_continue", `{"session_id":"`+id+`","prompt":"on"}`); !isError || !strings.Contains(b["error"].(string), "[x]") {
		t.Errorf("failure %v", b)
	}
}

func TestWhatIsNotOutput(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"thinking":"hm"},{"text":"one"},
		{"agent":{"description":"look","prompt":"p","steps":[{"text":"of the agent"}]}},
		{"frame":{"type":"assistant","error":"rate_limit","message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: made up"}]},"parent_tool_use_id":null}},
		{"text":"two"}]]}`})
	a := r.must("mpm_session_start", `{"prompt":"go"}`)
	all := encoded(t, a["messages"])
	if a["output"] != "one\ntwo" || !strings.Contains(all, "of the agent") || !strings.Contains(all, "made up") {
		t.Errorf("output %q, messages %s", a["output"], all)
	}
}

func TestAnAnswerOverTheBound(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"first"},{"flood":1},{"oversized_bytes":2000000},{"oversized_bytes":2000000},{"oversized_bytes":2000000},{"text":"last"}]]}`,
		engine: func(o *engine.Options) { o.MaxEventBytes = 64 << 20 }})
	a := r.must("mpm_session_start", `{"prompt":"go"}`)
	dropped, _ := a["messages_dropped"].(float64)
	if n := len(encoded(t, a["messages"])); n > maxMessages+maxMessages/8 || dropped < 1 {
		t.Errorf("%d bytes of messages, %v dropped", n, dropped)
	}
	out := a["output"].(string)
	if len(out) > maxOutput || !strings.HasSuffix(out, "\nlast") || strings.HasPrefix(out, "first") {
		t.Errorf("output has %d bytes and begins with %.20q", len(out), out)
	}
	if got := kinds(a); got[len(got)-1] != "result/success" {
		t.Errorf("messages end with %v", got[len(got)-1])
	}
}

// What left the memory of the session before it could be read is told as dropped.
func TestEventsThatAreGone(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"first"},{"oversized_bytes":200000},{"oversized_bytes":200000},{"text":"last"}]]}`,
		engine: func(o *engine.Options) { o.MaxEventBytes = 300_000 }})
	a := r.must("mpm_session_start", `{"prompt":"go"}`)
	if dropped, _ := a["messages_dropped"].(float64); dropped < 1 || !strings.HasSuffix(a["output"].(string), "last") {
		t.Errorf("%v dropped", dropped)
	}
}
