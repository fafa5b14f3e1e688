package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// ownNames are configurations that name what is the server's own; VALUE stands
// for a value that may be seen nowhere.
var ownNames = map[string]string{
	"variable":       `{"command":"/tmp/gh","args":["serve"],"env":{"CLAUDE_CODE_MCP_RESUME_SECRET":"VALUE"}}`,
	"letters":        `{"command":"sh","args":["-c","exec gatehouse serve"],"env":{"Claude_Code_Mcp_Resume_Secret":"VALUE"}}`,
	"switch":         `{"command":"srv","env":{"CLAUDE_CODE_MCP_ALLOW_DISK_RESUME":"1"}}`,
	"marker":         `{"command":"srv","env":{"GATEHOUSE_SESSION":""}}`,
	"argument":       `{"command":"env","args":["CLAUDE_CODE_MCP_RESUME_SECRET=VALUE","srv"]}`,
	"without marker": `{"command":"env","args":["-u","GATEHOUSE_SESSION","srv"]}`,
	"in the command": `{"command":"CLAUDE_CODE_MCP_RESUME_SECRET=VALUE srv"}`,
	"helper":         `{"type":"http","url":"https://w.example","headersHelper":"CLAUDE_CODE_MCP_RESUME_SECRET=VALUE mint"}`,
}

func TestServersThatNameOurSecretsAreLeftOut(t *testing.T) {
	for name, config := range ownNames {
		t.Run(name, func(t *testing.T) {
			secret := "sealing" + "-secret"
			l := newOwnerLab(t)
			l.global(`{"mcpServers":{"gate":` + strings.ReplaceAll(config, "VALUE", secret) + `,"good":{"command":"srv"}}}`)
			got, _, s := l.given(nil)
			if names(got) != "good=srv" || !find(s, event.Notice, `{"name":"gate","source":"user","rule":"engine.own_secret"`) {
				t.Errorf("given %q\n%s", names(got), dump(s))
			}
			if len(l.judge.seen) != 1 || strings.Contains(dump(s), secret) {
				t.Errorf("%d servers were judged, want the good one; or the secret was told:\n%s", len(l.judge.seen), dump(s))
			}
		})
	}
}

// ownPrograms returns configurations that start the program under test.
func (l *ownerLab) ownPrograms() map[string]string {
	l.t.Helper()
	own, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	bin := filepath.Join(l.home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		l.t.Fatal(err)
	}
	link := filepath.Join(bin, "gh")
	if err := os.Symlink(own, link); err != nil {
		l.t.Skipf("links cannot be made by this user: %v", err)
	}
	if err := os.Symlink(own, filepath.Join(l.cwd(), "gh")); err != nil {
		l.t.Fatal(err)
	}
	config := func(command string, args ...string) string {
		raw, err := json.Marshal(map[string]any{"command": command, "args": args})
		if err != nil {
			l.t.Fatal(err)
		}
		return string(raw)
	}
	path, _ := json.Marshal(bin)
	return map[string]string{
		"itself":     config(own, "serve"),
		"a link":     config(link, "serve"),
		"relative":   config("./gh", "serve"),
		"variable":   config("${HOME}/bin/gh"),
		"default":    config("${NOT_SET:-"+link+"}", "serve"),
		"on PATH":    `{"command":"gh","args":["serve"],"env":{"PATH":` + string(path) + `}}`,
		"by env":     config("env", "A=b", link, "serve"),
		"by a shell": config("sh", "-c", "cd /; exec '"+link+"' serve"),
		"many words": config("sh", "-c", ": "+numbered(300)+"; exec env -i "+link+" serve"),
		"many dirs":  `{"command":"gh","args":["serve"],"env":{"PATH":"` + strings.Repeat("/none:", 300) + bin + `"}}`,
		"bare word":  `{"command":"env","args":["-i","gh","serve"],"env":{"PATH":` + string(path) + `}}`,
		"near word":  config("env", "-i", "./gh", "serve"),
	}
}

// numbered is n different words.
func numbered(n int) string {
	var words strings.Builder
	for i := range n {
		fmt.Fprintf(&words, "w%d ", i)
	}
	return words.String()
}

func TestServersThatAreThisProgramAreLeftOut(t *testing.T) {
	for name := range newOwnerLab(t).ownPrograms() {
		t.Run(name, func(t *testing.T) {
			if name == "variable" && runtime.GOOS == "windows" {
				t.Skip("HOME is no variable of Windows")
			}
			l := newOwnerLab(t)
			l.global(`{"mcpServers":{"gate":` + l.ownPrograms()[name] + `,"good":{"command":"gh"}}}`)
			got, _, s := l.given(nil)
			if names(got) != "good=gh" || !find(s, event.Notice, `{"name":"gate","source":"user","rule":"engine.own_program"`) {
				t.Errorf("given %q\n%s", names(got), dump(s))
			}
		})
	}
}

func TestCallersMayNotStartThisProgram(t *testing.T) {
	l := newOwnerLab(t)
	refused := func(name, config, rule string) {
		t.Run(name, func(t *testing.T) {
			h := l.open(revealConfig)
			_, err := h.start(func(p *engine.StartParams) {
				p.Cwd, p.McpServers = l.cwd(), json.RawMessage(`{"good":{"command":"srv"},"gate":`+config+`}`)
			})
			if engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), `"gate"`) || !strings.Contains(err.Error(), rule) {
				t.Errorf("error %v, want PERMISSION_DENIED by %s", err, rule)
			}
		})
	}
	for name, config := range ownNames {
		refused(name, config, "engine.own_secret")
	}
	for name, config := range l.ownPrograms() {
		if name == "variable" && runtime.GOOS == "windows" {
			continue // HOME is none there
		}
		refused(name, config, "engine.own_program")
	}
	// The CLI tells upper from lower case in names of members.
	refused("hidden by letters", `{"env":{"CLAUDE_CODE_MCP_RESUME_SECRET":"x"},"Env":{},"command":"srv","Command":"other"}`, "engine.own_secret")
	refused("typed oddly", `{"command":"srv","args":[1,["GATEHOUSE_SESSION"]],"env":{"CLAUDE_CODE_MCP_RESUME_SECRET":7}}`, "engine.own_secret")
}

func TestOwnProgramMayBeAllowed(t *testing.T) {
	l := newOwnerLab(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(map[string]any{"own": map[string]any{"command": own, "args": []string{"another-server"}}})
	l.global(`{"mcpServers":` + string(config) + `}`)
	l.ownServers = true
	if got, _, s := l.given(nil); names(got) != "own="+own {
		t.Errorf("given %q\n%s", names(got), dump(s))
	}
}

func TestCallersServersHaveNamesOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		servers, want string // want "": taken
	}{
		{`{"tracker_":{"command":"x"}}`, `"tracker_"`},
		{`{"_tracker":{"command":"x"}}`, `"_tracker"`},
		{`{"tracker__x":{"command":"x"}}`, `"tracker__x"`},
		{`{"tracker.x":{"command":"x"}}`, `"tracker.x"`},
		{`{"tracker ":{"command":"x"}}`, `"tracker "`},
		{`{"":{"command":"x"}}`, `""`},
		{`{"` + strings.Repeat("n", 65) + `":{"command":"x"}}`, `nnn`},
		{`{"good":{"command":"x"},"b__d":{"command":"x"}}`, `"b__d"`},
		{`["good"]`, "want an object"},
		{`"good"`, "want an object"},
		{`{"a-b":{"command":"x"},"a_b":{"command":"x"},"A9":{"command":"x"}}`, ""},
		{`{}`, ""}, {`null`, ""},
	} {
		t.Run(c.servers, func(t *testing.T) {
			l := newOwnerLab(t)
			h := l.open(revealConfig)
			_, err := h.start(func(p *engine.StartParams) { p.Cwd, p.McpServers = l.cwd(), json.RawMessage(c.servers) })
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (engine.CodeOf(err) != engine.InvalidArgument || !strings.Contains(err.Error(), "mcpServers") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want INVALID_ARGUMENT naming %s", err, c.want)
			}
		})
	}
}

func TestNamesOfVariablesAndHeadersAreJudged(t *testing.T) {
	l := newOwnerLab(t)
	hidden := "hidden" + "-value"
	l.global(`{"mcpServers":{
		"run":{"command":"srv","env":{"Node_Options":"` + hidden + `","A":"` + hidden + `","LD_PRELOAD":"` + hidden + `"},"headers":{"X":"y"}},
		"web":{"type":"http","url":"https://w.example","headers":{"X-Key":"` + hidden + `","Authorization":"` + hidden + `"},"env":{"B":"c"}}
	}}`)
	l.given(nil)
	if len(l.judge.seen) != 2 {
		t.Fatalf("judged %+v", l.judge.seen)
	}
	run, web := l.judge.seen[0].Server, l.judge.seen[1].Server
	if strings.Join(run.Env, " ") != "A LD_PRELOAD NODE_OPTIONS" || len(run.Headers) > 0 {
		t.Errorf("run: env %q, headers %q", run.Env, run.Headers)
	}
	if strings.Join(web.Headers, " ") != "authorization x-key" || len(web.Env) > 0 {
		t.Errorf("web: env %q, headers %q", web.Env, web.Headers)
	}
	if asked, _ := json.Marshal(l.judge.seen); strings.Contains(string(asked), hidden) {
		t.Error("a value was shown to policy")
	}
}

func TestSessionsAreMarked(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"reveal":"env:GATEHOUSE_SESSION"}]]}`, nil)
	s, err := h.start(func(p *engine.StartParams) { p.Env = map[string]string{"GATEHOUSE_SESSION": "mine"} })
	if err != nil {
		t.Fatal(err)
	}
	if got := h.settled(s).Result.Result; !strings.Contains(got, s.ID()) {
		t.Errorf("the session's own processes are marked %s, want its id", got)
	}
}
