package policy

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestCallerPatterns(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"npm run build", "npm run build", true},
		{"npm run build", "npm run build --x", false},
		{"npm run *", "npm run test", true},
		{"npm run *", "npm run", true},
		{"npm run *", "npm runtime", false},
		{"npm run:*", "npm run test", true},
		{"npm run:*", "npm run", true},
		{"npm run:*", "npm runtime", false},
		{"npm:* x", "npm:1 x", true},
		{"npm:* x", "npm y x", false},
		{"ls*", "lsof", true},
		{"* --version", "node --version", true},
		{"* --version", "node --version x", false},
		{"git * main", "git checkout main", true},
		{"git * main", "git main", false},
		{"git * main *", "git push main", false},
		{"git * main *", "git push main x", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXbY", false},
		{":*", "anything", false},
		{"", "x", false},
	} {
		if got := coversCommand(row.pattern, row.text); got != row.want {
			t.Errorf("%q covers %q: %v, want %v", row.pattern, row.text, got, row.want)
		}
	}
	for _, row := range []struct {
		domain, host string
		want         bool
	}{
		{"example.com", "example.com", true}, {"example.com", "x.example.com", false}, {"*.example.com", "x.example.com", true},
		{"*.example.com", "x.y.example.com", true}, {"*.example.com", "example.com", false}, {"*.example.com", "badexample.com", false},
		{"*", "example.com", true}, {"*.", "example.com", false}, {"", "example.com", false},
	} {
		if got := coversHost(row.domain, row.host); got != row.want {
			t.Errorf("domain %q covers %q: %v, want %v", row.domain, row.host, got, row.want)
		}
	}
}

func TestCallerSegments(t *testing.T) {
	split := func(s string) []string { return strings.Split(s, ":") }
	for _, row := range []struct {
		pattern, path []string
		want          bool
	}{
		{split("src"), split("src:a:b"), true},
		{split("src:**"), split("src"), false},
		{split("src:**"), split("src:a"), true},
		{split("**:x"), split("x"), true},
		{split("**:x"), split("a:b:x:c"), true},
		{split("**:a:**:b"), split("a:b:a:c:b"), true},
		{split("**:a:**:b"), split("b:a:c"), false},
		{split("src:*.go"), split("src:a.go"), true},
		{split("src:*.go"), split("src:x:a.go"), false},
		{split("[x"), split("[x"), false},
	} {
		if got := coversSegments(row.pattern, row.path); got != row.want {
			t.Errorf("%q covers %q: %v, want %v", row.pattern, row.path, got, row.want)
		}
	}
}

func TestCallerRules(t *testing.T) {
	root := workspace(t)
	top := filepath.Dir(root)
	s := load(t, Options{Home: filepath.Join(top, "home")})
	object := func(pairs ...string) string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		raw, _ := json.Marshal(m)
		return string(raw)
	}
	sh := func(text string) string { return object("command", text) }
	for _, row := range []struct {
		name, tool, input   string
		allowed, disallowed string
		want                bool // by the caller's rules
	}{
		{"by prefix", "Bash", sh("npm run test"), "Bash(npm run *)", "", true},
		{"every part", "Bash", sh("npm run a && npm run b"), "Bash(npm run *)", "", true},
		{"one part is missing", "Bash", sh("npm run a && make"), "Bash(npm run *)", "", false},
		{"with a harmless assignment", "Bash", sh("CI=1 LC_ALL=C npm run a"), "Bash(npm run *)", "", true},
		{"with an assignment", "Bash", sh("FOO=1 npm run a"), "Bash(npm run *)", "", false},
		{"with an assignment that stays", "Bash", sh("CI=1; npm run a"), "Bash(npm run *)", "", false},
		{"with an assignment of what is not known", "Bash", sh("CI=$(x) npm run a"), "Bash(npm run *)", "", false},
		{"with a declaration", "Bash", sh("export CI=1; npm run a"), "Bash(npm run *)", "", false},
		{"with a redirection", "Bash", sh("npm run a > x"), "Bash(npm run *)", "", false},
		{"with a substitution", "Bash", sh("npm run $(make)"), "Bash(npm run *)", "", false},
		{"own script", "Bash", sh("./build.sh -v"), "Bash(./build.sh *)", "", true},
		{"a path is named by its rule only", "Bash", sh("./npm run x"), "Bash(* run x)", "", false},
		{"after a cd that is known", "Bash", sh("cd src && npm run a"), "Bash(npm run *),Bash(cd *)", "", true},
		{"after a cd that is not covered", "Bash", sh("cd src && npm run a"), "Bash(npm run *)", "", false},
		{"not understood", "Bash", sh("eval npm run a"), "Bash", "", false},
		{"brackets do not match", "Bash", sh("ls x"), "Bash(ls x", "", false},
		{"read below", "Read", object("file_path", "src/a.go"), "Read(src/**)", "", true},
		{"read, absolute", "Read", object("file_path", top+"/outside/notes.txt"), "Read(/" + top + "/outside/**)", "", true},
		{"read, home", "Write", object("file_path", "src/a.go"), "Edit(~/**)", "", false},
		{"read through a link", "Read", object("file_path", "link/notes.txt"), "Read(link/**)", "", false},
		{"edit rule for write", "Write", object("file_path", "src/b.go"), "Edit(src/**)", "", true},
		{"read rule for write", "Write", object("file_path", "src/b.go"), "Read(src/**)", "", false},
		{"read rule for a command", "Bash", sh("cat2 src/a.go"), "Read(src/**)", "", false},
		{"host", "WebFetch", object("url", "https://docs.example.com/x"), "WebFetch(domain:*.example.com)", "", true},
		{"host in capitals", "WebFetch", object("url", "https://Example.COM/x"), "WebFetch(domain:example.com)", "", true},
		{"other host", "WebFetch", object("url", "https://example.com.evil.org/"), "WebFetch(domain:example.com)", "", false},
		{"host as user", "WebFetch", object("url", "https://example.com@evil.org/"), "WebFetch(domain:example.com)", "", false},
		{"no domain", "WebFetch", object("url", "https://example.com/"), "WebFetch(example.com)", "", false},
		{"agent", "Agent", object("subagent_type", "Explore"), "Agent(Explore)", "", true},
		{"agent by its older name", "Task", object("subagent_type", "Explore"), "Agent(Explore)", "", true},
		{"other agent", "Agent", object("subagent_type", "Other"), "Agent(Explore)", "", false},
		{"skill", "Skill", object("skill", "commit"), "Skill(commit)", "", true},
		{"skill with words", "Skill", object("skill", "commit", "args", "now"), "Skill(commit)", "", false},
		{"skill with any words", "Skill", object("skill", "commit", "args", "now"), "Skill(commit *)", "", true},
		{"unknown tool with a pattern", "Odd", object("x", "y"), "Odd(y)", "", false},
		{"unknown tool by name", "Odd", object("x", "y"), "Odd", "", true},
		{"server", "mcp__a__b", `{}`, "mcp__a", "", true},
		{"server with a star", "mcp__a__b", `{}`, "mcp__a__*", "", true},
		{"every server", "mcp__a__b", `{}`, "mcp__*", "", false},
		{"everything", "mcp__a__b", `{}`, "*", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := request(root, row.tool, row.input)
			r.Session.AllowedTools = splitRules(row.allowed)
			d, err := s.Decide(context.Background(), r)
			if err != nil || (d.Effect == permission.Allow && d.Rule == "dev.allowed_tools") != row.want {
				t.Errorf("got %s by %s (%s), want allowed: %v", d.Effect, d.Rule, d.Reason, row.want)
			}
		})
	}
}

// splitRules splits a list of rules at commas outside brackets.
func splitRules(list string) []string {
	var out []string
	start, depth := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0 || i == len(list):
			if i > start {
				out = append(out, list[start:i])
			}
			start = i + 1
		}
	}
	return out
}

func TestCallerDisallows(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Home: "/nonexistent"})
	sh := func(text string) string {
		raw, _ := json.Marshal(map[string]string{"command": text})
		return string(raw)
	}
	for _, row := range []struct {
		name, tool, input, disallowed string
		want                          bool
	}{
		{"one part", "Bash", sh("ls; npm x"), "Bash(npm *)", true},
		{"behind a wrapper", "Bash", sh("timeout 5 /usr/bin/npm x"), "Bash(npm *)", true},
		{"with an assignment", "Bash", sh("A=1 npm x"), "Bash(npm *)", true},
		{"in other letters", "Bash", sh("NPM x"), "Bash(npm *)", true},
		{"git with options", "Bash", sh("git -C src push origin"), "Bash(git push *)", true},
		{"not understood", "Bash", sh("eval $X; npm y"), "Bash(npm *)", true},
		{"a file of a command", "Bash", sh("cat src/a.go"), "Read(src/**)", true},
		{"a file after cd", "Bash", sh("cd src && cat a.go"), "Read(src/**)", true},
		{"a file that is only read", "Bash", sh("cat src/a.go"), "Edit(src/**)", false},
		{"a file that is written", "Bash", sh("echo > src/a.go"), "Edit(src/**)", true},
		{"through a link", "Read", `{"file_path":"link/notes.txt"}`, "Read(link/**)", true},
		{"the other end of a link", "Read", `{"file_path":"link/notes.txt"}`, "Read(/" + filepath.Dir(root) + "/outside/**)", true},
		{"letters folded", "Read", `{"file_path":"SRC/a.go"}`, "Read(src/**)", true},
		{"elsewhere", "Read", `{"file_path":"main.go"}`, "Read(src/**)", false},
		{"a bare name at any depth", "Read", `{"file_path":"src/a.go"}`, "Read(a.go)", true},
		{"agent", "Agent", `{"subagent_type":"explore"}`, "Task(Explore)", true},
		{"skill with words", "Skill", `{"skill":"commit","args":"x"}`, "Skill(commit)", true},
		{"host", "WebFetch", `{"url":"https://a.example.com"}`, "WebFetch(domain:*.example.com)", true},
		{"every server", "mcp__a__b", `{}`, "mcp__*", true},
		{"one server", "mcp__a__b", `{}`, "mcp__b", false},
		{"unknown pattern", "Odd", `{"x":"y"}`, "Odd(z)", true},
		{"brackets do not match", "Bash", sh("ls"), "Bash(rm", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := request(root, row.tool, row.input)
			r.Session.DisallowedTools = []string{row.disallowed}
			d, err := s.Decide(context.Background(), r)
			if err != nil || (d.Rule == "caller.disallowed") != row.want {
				t.Errorf("got %s by %s %v, want disallowed: %v", d.Effect, d.Rule, d.Rules, row.want)
			}
		})
	}
}

// Which commands of a text a caller's specific rules cover, each by itself.
func TestCommandsAllowedByCaller(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Home: "/nonexistent"})
	for _, row := range []struct {
		text, allowed string
		want          []bool
	}{
		{"npm run a | tail -5", "Bash(npm run *)", []bool{true, false}},
		{"cd src && npm run a", "Bash(npm run *)", []bool{false, true}},
		{"npm run a && npm run b", "Bash(npm run *)", []bool{true, true}},
		{"timeout 5 npm run a", "Bash(npm run *)", []bool{true, true}},
		{"timeout 5 npm run a", "Bash(make)", []bool{true, false}},
		{"npm run a", "Bash", []bool{false}},
		{"npm run a > x", "Bash(npm run *)", []bool{false}},
		{"npm run a 2>&1", "Bash(npm run *)", []bool{true}},
		{"./npm run a", "Bash(npm run *)", []bool{false}},
		{"TERM=dumb npm run a", "Bash(npm run *)", []bool{true}},
		{"PATH=. npm run a", "Bash(npm run *)", []bool{false}},
		{"npm run a & ls", "Bash(npm run *)", []bool{false, false}},
		{"npm run a; x=1", "Bash(npm run *)", []bool{false}},
		{"npm run a; echo $x", "Bash(npm run *)", []bool{false, false}},
		{"cd $x; npm run a", "Bash(npm run *)", []bool{false, false}},
		{"eval npm run a; npm run b", "Bash(npm run *)", []bool{false, false, false}},
	} {
		raw, _ := json.Marshal(map[string]string{"command": row.text})
		r := request(root, "Bash", string(raw))
		r.Session.AllowedTools = []string{row.allowed}
		object, err := decodeInput(r.Input)
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, c := range s.describe(r, object).Bash.Commands {
			got = append(got, c.AllowedByCaller)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%q with %s: %v, want %v", row.text, row.allowed, got, row.want)
		}
	}
}

// A text is covered in part when a specific rule covers a command of it, and not
// the whole.
func TestAllowedInPart(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Home: "/nonexistent"})
	for _, row := range []struct {
		text, allowed string
		want          bool
	}{
		{"npm run a | tail -5", "Bash(npm run *)", true},
		{"npm run a", "Bash(npm run *)", false},
		{"npm run a | tail -5", "Bash", false},
		{"timeout 5 make", "Bash(npm run *)", false},
		{"npm run a & ls", "Bash(npm run *)", false},
		{"eval npm run a; npm run b", "Bash(npm run *)", false},
	} {
		raw, _ := json.Marshal(map[string]string{"command": row.text})
		r := request(root, "Bash", string(raw))
		r.Session.AllowedTools = []string{row.allowed}
		object, err := decodeInput(r.Input)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.describe(r, object).AllowedByCaller.Partly; got != row.want {
			t.Errorf("%q with %s: partly %v, want %v", row.text, row.allowed, got, row.want)
		}
	}
}
