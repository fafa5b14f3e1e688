package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// serverJudge admits everything but servers whose command is "refused".
type serverJudge struct {
	mu   sync.Mutex
	seen []admission.Request
}

func (j *serverJudge) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.Action == admission.McpServer {
		j.seen = append(j.seen, r)
		if r.Server.Command == "refused" {
			return permission.Decision{Effect: permission.Deny, Rule: "test.server", Reason: "not that one"}, nil
		}
	}
	return permission.Decision{Effect: permission.Allow}, nil
}

// ownerLab is an owner's home and a repository with a folder, below one root.
type ownerLab struct {
	t          *testing.T
	home, repo string
	judge      *serverJudge
	trusted    bool
	configDir  string
	ownServers bool
}

func newOwnerLab(t *testing.T) *ownerLab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &ownerLab{t: t, home: filepath.Join(base, "home"), repo: filepath.Join(base, "repo"), judge: &serverJudge{}}
	for _, dir := range []string{l.home, filepath.Join(l.repo, ".git"), l.cwd()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *ownerLab) cwd() string { return filepath.Join(l.repo, "sub") }

// file writes a file; $REPO in its text stands for the repository's path.
func (l *ownerLab) file(path, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	repo, err := json.Marshal(l.repo)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$REPO", strings.Trim(string(repo), `"`))), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *ownerLab) global(text string) {
	l.t.Helper()
	l.file(filepath.Join(l.home, ".claude.json"), text)
}

func (l *ownerLab) open(scenario string) harness {
	return newHarness(l.t, scenario, func(o *engine.Options) {
		o.Roots, o.Admission, o.OwnProgramServers = []string{l.repo}, []admission.Decider{l.judge}, l.ownServers
		if l.trusted {
			o.Trusted = []string{l.repo}
		}
		o.Environ = []string{"HOME=" + l.home, "USERPROFILE=" + l.home, "PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GORACE=" + os.Getenv("GORACE")}
		if l.configDir != "" {
			o.Environ = append(o.Environ, "CLAUDE_CONFIG_DIR="+l.configDir)
		}
	})
}

const revealConfig = `{"turns":[[{"reveal":"mcp-config"}],[{"exit":{"code":1}}]],"resume_turns":[[{"reveal":"mcp-config"}]]}`

// given starts a session and returns the servers its CLI got, and the session.
func (l *ownerLab) given(change func(*engine.StartParams)) (map[string]map[string]any, harness, *engine.Session) {
	l.t.Helper()
	h := l.open(revealConfig)
	s, err := h.start(func(p *engine.StartParams) {
		p.Cwd = l.cwd()
		if change != nil {
			change(p)
		}
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.result(h, s), h, s
}

func (l *ownerLab) result(h harness, s *engine.Session) map[string]map[string]any {
	l.t.Helper()
	text := h.settled(s).Result.Result
	var got struct {
		McpServers map[string]map[string]any
		Mode       string
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		l.t.Fatalf("%s: %v", text, err)
	}
	if got.Mode != "" && got.Mode != "-rw-------" && runtime.GOOS != "windows" {
		l.t.Errorf("the file's mode is %s", got.Mode)
	}
	return got.McpServers
}

func names(servers map[string]map[string]any) string {
	var all []string
	for name, s := range servers {
		word, _ := s["command"].(string)
		if url, ok := s["url"].(string); ok {
			word = url
		}
		all = append(all, name+"="+word)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// everywhere has the server "a" in each source, and one more of each.
func (l *ownerLab) everywhere() {
	l.t.Helper()
	l.global(`{"numStartups":3,"mcpServers":{"a":{"command":"user-a"},"user-b":{"type":"http","url":"https://u.example/b"}},
		"projects":{"$REPO":{"mcpServers":{"a":{"command":"local-a"},"local-b":{"command":"local-b"}}},"/elsewhere":{"mcpServers":{"e":{"command":"e"}}}}}`)
	l.file(filepath.Join(l.cwd(), ".mcp.json"), `{"mcpServers":{"a":{"command":"project-a"},"project-b":{"command":"project-b"}}}`)
	l.file(filepath.Join(l.repo, ".mcp.json"), `{"mcpServers":{"project-b":{"command":"above-b"},"project-c":{"command":"above-c"}}}`)
}

func TestOwnersServers(t *testing.T) {
	sources := func(names ...string) func(*engine.StartParams) {
		return func(p *engine.StartParams) { p.SettingSources = &names }
	}
	for _, c := range []struct {
		name    string
		trusted bool
		change  func(*engine.StartParams)
		want    string
	}{
		{"untrusted", false, nil, "a=local-a local-b=local-b user-b=https://u.example/b"},
		{"trusted", true, nil, "a=local-a local-b=local-b project-b=project-b project-c=above-c user-b=https://u.example/b"},
		{"strict", true, func(p *engine.StartParams) { p.StrictMcpConfig = true }, ""},
		{"no sources", true, sources(), ""},
		{"user", true, sources("user"), "a=user-a user-b=https://u.example/b"},
		{"local", true, sources("local"), "a=local-a local-b=local-b"},
		{"project", true, sources("project"), "a=project-a project-b=project-b project-c=above-c"},
		{"project, untrusted", false, sources("project"), ""},
		{"caller first", false, func(p *engine.StartParams) {
			p.McpServers = json.RawMessage(`{"a":{"command":"caller-a"},"user_b":{"command":"caller-b"},"user-b":{"command":"caller-b2"}}`)
		}, "a=caller-a local-b=local-b user-b=caller-b2 user_b=caller-b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newOwnerLab(t)
			l.trusted = c.trusted
			l.everywhere()
			got, _, s := l.given(c.change)
			if names(got) != c.want {
				t.Errorf("given %q, want %q\n%s", names(got), c.want, dump(s))
			}
			if left := find(s, event.Notice, `"rule":"engine.untrusted"`); left != (c.name == "project, untrusted") {
				t.Errorf("told of an untrusted project: %v", left)
			}
		})
	}
}

func TestOwnersServersAreJudgedAndTold(t *testing.T) {
	l := newOwnerLab(t)
	l.configDir = filepath.Join(l.home, "elsewhere")
	hidden := "hidden" + "-value"
	l.file(filepath.Join(l.configDir, ".claude.json"), `{"mcpServers":{
		"good":{"command":"srv","args":["-v"],"env":{"TOKEN":"`+hidden+`"},"timeout":5000,"alwaysLoad":true,"unheard":{"of":1}},
		"bad":{"command":"refused","env":{"TOKEN":"`+hidden+`"}},
		"web":{"type":"streamable-http","url":"https://w.example/mcp","headers":{"Authorization":"`+hidden+`"},"headersHelper":"mint"},
		"odd":{"command":["`+hidden+`"]}, "bare":{"env":{"TOKEN":"`+hidden+`"}}, "ours":{"type":"sdk","name":"ours"}, "x__y":{"command":"srv"},
		"off":{"command":"srv"}, "web.":{"command":"srv"}
	},"projects":{"$REPO":{"disabledMcpServers":["off"]}}}`)
	got, h, s := l.given(nil)
	if want := "good=srv web=https://w.example/mcp"; names(got) != want {
		t.Fatalf("given %q, want %q\n%s", names(got), want, dump(s))
	}
	good, _ := json.Marshal(got["good"])
	if want := `{"alwaysLoad":true,"args":["-v"],"command":"srv","env":{"TOKEN":"` + hidden + `"},"timeout":5000,"type":"stdio"}`; string(good) != want {
		t.Errorf("good = %s\nwant %s", good, want)
	}
	var notice string
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == event.Notice && strings.Contains(string(e.Data), "mcp_servers") {
			notice += string(e.Data)
		}
	}
	for _, want := range []string{
		`"message":"MCP servers; handed over: good, web; left out: bare (engine.server_form), odd`,
		`"handedOver":[{"name":"good","source":"user"},{"name":"web","source":"user"}]`,
		`{"name":"bad","source":"user","rule":"test.server","reason":"not that one"}`,
		`{"name":"odd","source":"user","rule":"engine.server_form"`, `{"name":"bare","source":"user","rule":"engine.server_form"`,
		`{"name":"ours","source":"user","rule":"engine.server_form"`, `{"name":"x__y","source":"user","rule":"engine.server_name"`,
		`{"name":"web.","source":"user","rule":"engine.server_name"`, `{"name":"off","source":"user","rule":"engine.server_disabled"`,
	} {
		if !strings.Contains(notice, want) {
			t.Errorf("the notice lacks %s:\n%s", want, notice)
		}
	}
	if asked, _ := json.Marshal(l.judge.seen); strings.Contains(notice, hidden) || strings.Contains(string(asked), hidden) {
		t.Error("a variable or header of a server left its configuration")
	}
	if want := (admission.Server{Name: "web", Source: "user", Transport: "http", Command: "mint", URL: "https://w.example/mcp"}); !slices.ContainsFunc(l.judge.seen, func(r admission.Request) bool {
		return r.Server.Name == want.Name && r.Server.Command == want.Command && r.Server.Transport == want.Transport && r.Server.URL == want.URL && r.Cwd == l.cwd()
	}) {
		t.Errorf("judged %+v, want %+v among them", l.judge.seen, want)
	}
	l.keepsServers(h, s, len(l.judge.seen))
}

// keepsServers: a later process has the same servers, a fork is judged anew.
func (l *ownerLab) keepsServers(h harness, s *engine.Session, judged int) {
	l.t.Helper()
	l.file(filepath.Join(l.configDir, ".claude.json"), `{"mcpServers":{"new":{"command":"srv"}}}`)
	if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "exit"}); err != nil {
		l.t.Fatal(err)
	}
	if i := h.settled(s); i.State != engine.Failed {
		l.t.Fatalf("state %s, want the process to have ended", i.State)
	}
	for _, c := range []struct {
		fork   bool
		want   string
		judged int
	}{{false, "good=srv web=https://w.example/mcp", judged}, {true, "new=srv", judged + 1}} {
		next, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more", Fork: c.fork})
		if err != nil {
			l.t.Fatal(err)
		}
		if got := names(l.result(h, next)); got != c.want || len(l.judge.seen) != c.judged {
			l.t.Errorf("fork %v: given %q, want %q; %d judged, want %d", c.fork, got, c.want, len(l.judge.seen), c.judged)
		}
	}
}

func TestAnIsolatedSessionGetsNoServersOfTheOwner(t *testing.T) {
	l := newOwnerLab(t)
	l.everywhere()
	h := l.open(`{"settings_dropped":{"keys":["allowManagedHooksOnly"],"unless_isolated":true},"turns":[[{"reveal":"mcp-config"}]]}`)
	s, err := h.start(func(p *engine.StartParams) {
		p.Cwd, p.McpServers = l.cwd(), json.RawMessage(`{"c":{"command":"caller"}}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(l.result(h, s)); got != "c=caller" {
		t.Errorf("given %q, want the caller's only", got)
	}
}

func TestServersHaveABound(t *testing.T) {
	l := newOwnerLab(t)
	var all []string
	for i := range 70 {
		all = append(all, `"s`+string(rune('a'+i/26))+string(rune('a'+i%26))+`":{"command":"srv"}`)
	}
	l.global(`{"mcpServers":{` + strings.Join(all, ",") + `}}`)
	got, _, s := l.given(nil)
	if len(got) != 64 || !find(s, event.Notice, `"rule":"engine.server_limit"`) {
		t.Errorf("%d servers were given:\n%s", len(got), dump(s))
	}
}
