package fakeapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, sc Scenario) *Server {
	t.Helper()
	s, err := New(sc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ask posts one request with tools and returns status and body.
func ask(t *testing.T, s *Server, prompt string, more object) (int, string) {
	t.Helper()
	req := object{
		"model": "m", "tools": []any{object{"name": "Bash"}},
		"messages": []any{object{"role": "user", "content": prompt}},
	}
	for k, v := range more {
		req[k] = v
	}
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(raw)
}

func TestTurnsInOrder(t *testing.T) {
	s := start(t, Scenario{
		Turns: []Turn{{Text: "one", Repeat: 2}, Use("Bash", object{"command": "ls"}), Fail(429, "rate_limit_error", "slow down")},
		End:   &Turn{Text: "over"},
	})
	for i, want := range []struct {
		status int
		text   string
	}{{200, `"text":"one"`}, {200, `"text":"one"`}, {200, `"command":"ls"`}, {429, "slow down"}, {200, `"text":"over"`}} {
		status, body := ask(t, s, "hi", nil)
		if status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("reply %d = %d %s, want %d with %s", i, status, body, want.status, want.text)
		}
	}
}

func TestLanesMatchFirstMessageAndSystem(t *testing.T) {
	s := start(t, Scenario{
		Turns: []Turn{Say("main")},
		Lanes: []Lane{{Match: "CHILD", Turns: []Turn{Say("lane one")}}, {Match: "SYS", Turns: []Turn{Say("lane two")}}},
		Side:  &Turn{Text: "a title"},
	})
	tests := []struct {
		prompt string
		more   object
		want   string
		lane   string
	}{
		{"CHILD do it", nil, "lane one", "CHILD"},
		{"hi", object{"system": []any{object{"type": "text", "text": "SYS"}}}, "lane two", "SYS"},
		{"hi", nil, "main", MainLane},
		{"CHILD", object{"tools": []any{}}, "a title", SideLane},
	}
	for _, tt := range tests {
		if _, body := ask(t, s, tt.prompt, tt.more); !strings.Contains(body, tt.want) {
			t.Errorf("%q %v: got %s, want %q", tt.prompt, tt.more, body, tt.want)
		}
	}
	for i, r := range s.Requests() {
		if r.Lane != tests[i].lane {
			t.Errorf("request %d in lane %q, want %q", i, r.Lane, tests[i].lane)
		}
	}
}

func TestStreamRebuildsTheReply(t *testing.T) {
	input := object{"command": strings.Repeat("é", 60)}
	s := start(t, Scenario{Turns: []Turn{{Chunk: 7, Content: []Block{
		{Type: "thinking", Text: "let me see"}, {Type: "text", Text: "short answer"}, {Type: "tool_use", Tool: ToolUse{Name: "Bash", Input: input}},
	}}}})
	_, body := ask(t, s, "hi", object{"stream": true})
	var kinds []string
	got := map[string]string{}
	sc := bufio.NewScanner(strings.NewReader(body))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Delta map[string]any
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Type)
		for k, v := range e.Delta {
			if text, ok := v.(string); ok && k != "type" {
				got[k] += text
			}
		}
	}
	want, _ := json.Marshal(input)
	if got["thinking"] != "let me see" || got["text"] != "short answer" || got["partial_json"] != string(want) {
		t.Errorf("deltas join to %v", got)
	}
	if got["stop_reason"] != "tool_use" || kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" {
		t.Errorf("stop %q, events %v", got["stop_reason"], kinds)
	}
}

func TestParallelToolsHaveDistinctIDs(t *testing.T) {
	s := start(t, Scenario{Turns: []Turn{{Tools: []ToolUse{{Name: "A"}, {Name: "B", ID: "toolu_mine"}, {Name: "C"}}}}})
	_, body := ask(t, s, "hi", nil)
	var m struct {
		Content    []struct{ ID, Name string }
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) != 3 || m.Content[0].ID == m.Content[2].ID || m.Content[1].ID != "toolu_mine" || m.StopReason != "tool_use" {
		t.Errorf("reply %s", body)
	}
}

func TestDropClosesWithoutReply(t *testing.T) {
	s := start(t, Scenario{Turns: []Turn{{Drop: true}}})
	if status, body := ask(t, s, "hi", nil); status != 0 {
		t.Errorf("got %d %s, want a broken connection", status, body)
	}
}

func TestCloseEndsWaitingReplies(t *testing.T) {
	s := start(t, Scenario{Turns: []Turn{{Text: "late", Delay: time.Hour}}})
	done := make(chan struct{})
	go func() { // ended by Close below
		defer close(done)
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"tools":[{}]}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	for len(s.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("a delayed reply outlived Close")
	}
}

func TestLogKeepsBodiesAndNoCredentials(t *testing.T) {
	s := start(t, Scenario{})
	req, err := http.NewRequest("POST", s.URL+"/v1/messages?beta=true", strings.NewReader(`{"messages":[{"content":"MARK"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "dummy")
	req.Header.Set("Authorization", "Bearer dummy")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !s.Saw("MARK") || s.Saw("OTHER") {
		t.Error("Saw does not tell what was sent")
	}
	h := s.Requests()[0].Header
	if h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" {
		t.Errorf("credentials kept: %v", h)
	}
}

func TestOtherPaths(t *testing.T) {
	s := start(t, Scenario{})
	tests := []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/", "", 200},
		{"HEAD", "/", "", 200},
		{"POST", "/v1/messages/count_tokens", "{}", 200},
		{"POST", "/v1/messages", "not json", 400},
		{"POST", "/v1/messages", `{"messages":3}`, 400},
		{"POST", "/v1/files", "{}", 404},
	}
	for _, tt := range tests {
		req, err := http.NewRequest(tt.method, s.URL+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s %s = %d, want %d", tt.method, tt.path, resp.StatusCode, tt.want)
		}
	}
}
