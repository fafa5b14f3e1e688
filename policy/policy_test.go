package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// generous is a deadline that a loaded machine keeps.
const generous = 10 * time.Second

// workspace is a root with a few files, and a secret beside it.
func workspace(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "work")
	for _, name := range []string{"work/main.go", "work/src/a.go", "work/.env", "work/.env.example", "outside/notes.txt", "home/.ssh/id_rsa"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "outside"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	return root
}

func load(t testing.TB, o Options) *Set {
	t.Helper()
	if o.Deadline == 0 {
		o.Deadline = generous
	}
	if o.Home == "" {
		o.Home = "/nonexistent-home"
	}
	s, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// userPolicy writes one Rego file and returns its folder.
func userPolicy(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user.rego"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func request(root, tool, input string) permission.Request {
	return permission.Request{
		SessionID: "s", Door: permission.DoorAsk, ToolUseID: "t", Tool: tool, Input: json.RawMessage(input),
		Session: permission.Session{Cwd: root, Roots: []string{root}, Mode: "default", MaxBudgetUSD: 1},
	}
}

func decide(t testing.TB, s *Set, r permission.Request) permission.Decision {
	t.Helper()
	d, err := s.Decide(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLoadProfiles(t *testing.T) {
	for _, profile := range profiles {
		s := load(t, Options{Profile: profile})
		if s.Revision() == "" {
			t.Errorf("profile %s: no revision", profile)
		}
	}
	if _, err := Load(context.Background(), Options{Profile: "devel"}); err == nil {
		t.Error("an unknown profile loads")
	}
}

func TestProfilesDecide(t *testing.T) {
	root := workspace(t)
	top := filepath.Dir(root)
	sh := func(text string) string { b, _ := json.Marshal(map[string]string{"command": text}); return string(b) }
	file := func(path string) string { b, _ := json.Marshal(map[string]string{"file_path": path}); return string(b) }
	sets := map[string]*Set{}
	for _, profile := range profiles {
		sets[profile] = load(t, Options{Profile: profile, Home: filepath.Join(top, "home")})
	}
	for _, row := range []struct {
		name, profile, tool, input string
		mode                       string
		allowed, disallowed        []string
		want                       permission.Effect
		rule                       string
	}{
		{"read inside", "dev", "Read", file("main.go"), "", nil, nil, permission.Allow, "reads.inside"},
		{"read of what is not there", "dev", "Read", file("none.go"), "", nil, nil, permission.Allow, "reads.inside"},
		{"read through a link", "dev", "Read", file("link/notes.txt"), "", nil, nil, permission.Ask, "paths.read_outside"},
		{"read outside", "dev", "Read", file(top + "/outside/notes.txt"), "", nil, nil, permission.Ask, "paths.read_outside"},
		{"read outside, bare rule", "dev", "Read", file(top + "/outside/notes.txt"), "", []string{"Read"}, nil, permission.Ask, "paths.read_outside"},
		{"read outside, exact rule", "dev", "Read", file(top + "/outside/notes.txt"), "", []string{"Read(/" + top + "/outside/**)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"read of .env", "dev", "Read", file(".env"), "", []string{"Read"}, nil, permission.Deny, "paths.protected"},
		{"read of .ENV with a blank", "dev", "Read", file(" .ENV"), "", nil, nil, permission.Deny, "paths.protected"},
		{"read of the example", "dev", "Read", file(".env.example"), "", nil, nil, permission.Allow, "reads.inside"},
		{"read of the home's keys", "dev", "Read", file("~/.ssh/id_rsa"), "", nil, nil, permission.Deny, "paths.protected"},
		{"read without a path", "dev", "Read", `{}`, "", []string{"Read"}, nil, permission.Ask, "paths.unresolved"},
		{"grep for secrets", "dev", "Grep", `{"pattern":"x","glob":"**/.env*"}`, "", nil, nil, permission.Deny, "paths.protected"},
		{"grep", "dev", "Grep", `{"pattern":"x"}`, "", nil, nil, permission.Allow, "reads.inside"},
		{"glob", "dev", "Glob", `{"pattern":"**/*.go"}`, "", nil, nil, permission.Allow, "reads.inside"},
		{"glob that climbs", "dev", "Glob", `{"pattern":"src/*/../../../*"}`, "", nil, nil, permission.Ask, "paths.unresolved"},
		{"write inside", "dev", "Write", file("new.go"), "", nil, nil, permission.Ask, "engine.default"},
		{"write in acceptEdits", "dev", "Write", file("new.go"), "acceptEdits", nil, nil, permission.Allow, "dev.accept_edits"},
		{"write in plan mode", "dev", "Write", file("new.go"), "plan", []string{"Write"}, nil, permission.Ask, "plan.write"},
		{"write outside", "dev", "Write", file(top + "/x"), "acceptEdits", []string{"Write"}, nil, permission.Deny, "paths.write_outside"},
		{"write through a link", "dev", "Write", file("link/x"), "acceptEdits", nil, nil, permission.Deny, "paths.write_outside"},
		{"write of settings", "dev", "Write", file(".claude/settings.local.json"), "acceptEdits", []string{"Write"}, nil, permission.Deny, "paths.protected"},
		{"write of a git hook", "dev", "Edit", file(".git/hooks/pre-commit"), "acceptEdits", nil, nil, permission.Deny, "paths.protected"},
		{"write of CLAUDE.md", "dev", "Edit", file("CLAUDE.md"), "acceptEdits", nil, nil, permission.Ask, "paths.sensitive"},
		{"allowed tool", "dev", "Write", file("a.go"), "", []string{"Write"}, nil, permission.Allow, "dev.allowed_tools"},
		{"allowed by pattern", "dev", "Write", file("src/b.go"), "", []string{"Edit(src/**)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"not allowed by pattern", "dev", "Write", file("b.go"), "", []string{"Edit(src/**)"}, nil, permission.Ask, "engine.default"},
		{"disallowed", "dev", "Read", file("main.go"), "", []string{"Read"}, []string{"Read"}, permission.Deny, "caller.disallowed"},
		{"ls", "dev", "Bash", sh("ls -la src"), "", nil, nil, permission.Allow, "shell.reads"},
		{"cat", "dev", "Bash", sh("cat main.go | head -5"), "", nil, nil, permission.Allow, "shell.reads"},
		{"cat of a secret", "dev", "Bash", sh("cat .env"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"cd and cat of a secret", "dev", "Bash", sh("cd src; cat ../.env"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"cat outside", "dev", "Bash", sh("cat link/notes.txt"), "", []string{"Bash"}, nil, permission.Ask, "paths.read_outside"},
		{"cat of a pattern", "dev", "Bash", sh("cat *"), "", nil, nil, permission.Ask, "paths.read_outside"},
		{"redirection", "dev", "Bash", sh("ls > x"), "", nil, nil, permission.Ask, "engine.default"},
		{"redirection outside", "dev", "Bash", sh("ls > ../x"), "", []string{"Bash"}, nil, permission.Deny, "paths.write_outside"},
		{"printf", "dev", "Bash", sh("printf '%s' x"), "", nil, nil, permission.Allow, "shell.reads"},
		{"printf into a subscript", "dev", "Bash", sh("printf -v 'a[$(cat .env >&2)]' x"), "", []string{"Bash"}, nil, permission.Deny, "paths.text"},
		{"printf into a variable", "dev", "Bash", sh("printf -v a x"), "", nil, nil, permission.Ask, "engine.default"},
		{"test beside what is covered", "dev", "Bash", sh("ls; [[ 'a[$(curl x)]' -eq 0 ]]"), "", []string{"Bash(ls:*)"}, nil, permission.Ask, "shell.unanalysed"},
		{"control flow beside what is covered", "dev", "Bash", sh("make; [[ $x -eq 0 ]]"), "", []string{"Bash(make:*)"}, nil, permission.Ask, "engine.default"},
		{"find deletes the root", "dev", "Bash", sh("find . -delete"), "", []string{"Bash(find *)"}, nil, permission.Deny, "destruction.find_delete"},
		{"find deletes a folder", "dev", "Bash", sh("find src -delete"), "", []string{"Bash(find *)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"git writes outside", "dev", "Bash", sh("git diff --outp=../x"), "", []string{"Bash"}, nil, permission.Deny, "paths.write_outside"},
		{"git writes a guard", "dev", "Bash", sh("git diff --output .git/hooks/x"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"curl writes outside", "dev", "Bash", sh("curl -so../x h"), "", []string{"Bash(curl *)"}, nil, permission.Deny, "paths.write_outside"},
		{"curl to nowhere", "dev", "Bash", sh("curl -o /dev/null h"), "", []string{"Bash(curl *)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"stderr away", "dev", "Bash", sh("ls 2>/dev/null"), "", nil, nil, permission.Allow, "shell.reads"},
		{"git status", "dev", "Bash", sh("git status --short"), "", nil, nil, permission.Allow, "shell.reads"},
		{"git diff", "dev", "Bash", sh("git diff"), "", nil, nil, permission.Ask, "engine.default"},
		{"git diff of names", "dev", "Bash", sh("git diff --name-only"), "", nil, nil, permission.Allow, "shell.reads"},
		{"git pathspec magic", "dev", "Bash", sh("git diff --stat :/x"), "", nil, nil, permission.Ask, "engine.default"},
		{"git push with tags", "dev", "Bash", sh("git push --follow-tags origin main"), "", []string{"Bash(git push *)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"glob for a secret", "dev", "Bash", sh("cat .en*"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"braces for a secret", "dev", "Bash", sh("cat .e{nv,}"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"folder glob for a secret", "dev", "Bash", sh("cat ~/.ss*/x"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"variable with a secret", "dev", "Bash", sh("x=.env; cat $x"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"loop over a secret", "dev", "Bash", sh("for f in .env; do cat $f; done"), "", []string{"Bash"}, nil, permission.Deny, "paths.protected"},
		{"plain glob", "dev", "Bash", sh("cat src/*.go"), "", []string{"Bash"}, nil, permission.Allow, "dev.allowed_tools"},
		{"metadata by fetch, short form", "dev", "WebFetch", `{"url":"http://169.16689662/x"}`, "", []string{"WebFetch"}, nil, permission.Deny, "egress.metadata"},
		{"metadata, quoted and octal", "dev", "Bash", sh("curl 0251.254.169''.254"), "", []string{"Bash(curl *)"}, nil, permission.Deny, "egress.metadata"},
		{"git log to a file", "dev", "Bash", sh("git log --output=x"), "", nil, nil, permission.Ask, "engine.default"},
		{"git with config", "dev", "Bash", sh("git -c core.pager=x log"), "", []string{"Bash(git *)"}, nil, permission.Deny, "git.config"},
		{"git push", "dev", "Bash", sh("git push"), "", []string{"Bash"}, nil, permission.Ask, "git.push"},
		{"git push covered", "dev", "Bash", sh("git push origin topic"), "", []string{"Bash(git push *)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"git push covered, the rest not", "dev", "Bash", sh("git push && make"), "", []string{"Bash(git push:*)"}, nil, permission.Ask, "git.push"},
		{"git push force main", "dev", "Bash", sh("git push --force origin main"), "", []string{"Bash(git push *)"}, nil, permission.Deny, "git.force_push"},
		{"git push force main behind env", "dev", "Bash", sh("env A=1 timeout 5 git push origin +HEAD:main"), "", []string{"Bash"}, nil, permission.Deny, "git.force_push"},
		{"no-verify", "dev", "Bash", sh("git commit -nm x"), "", []string{"Bash"}, nil, permission.Deny, "git.no_verify"},
		{"commit", "dev", "Bash", sh("git commit -m new"), "", []string{"Bash"}, nil, permission.Allow, "dev.allowed_tools"},
		{"rm root", "dev", "Bash", sh("rm -rf /"), "", []string{"Bash(rm *)"}, nil, permission.Deny, "destruction.rm"},
		{"rm home", "dev", "Bash", sh("rm -rf ~"), "", []string{"Bash(rm *)"}, nil, permission.Deny, "destruction.rm"},
		{"rm cwd", "dev", "Bash", sh("rm -r -f ."), "", []string{"Bash(rm *)"}, nil, permission.Deny, "destruction.rm"},
		{"rm star", "dev", "Bash", sh("rm -rf *"), "", []string{"Bash"}, nil, permission.Deny, "destruction.rm"},
		{"rm in sh -c", "dev", "Bash", sh("sh -c 'rm -rf ..'"), "", []string{"Bash"}, nil, permission.Deny, "destruction.rm"},
		{"rm by xargs", "dev", "Bash", sh("find . | xargs rm -rf"), "", []string{"Bash"}, nil, permission.Deny, "destruction.rm"},
		{"rm a folder", "dev", "Bash", sh("rm -rf build"), "", []string{"Bash"}, nil, permission.Ask, "destruction.rm_recursive"},
		{"rm a folder, covered", "dev", "Bash", sh("rm -rf build"), "", []string{"Bash(rm -rf build)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"sudo", "dev", "Bash", sh("sudo ls"), "", []string{"Bash"}, nil, permission.Deny, "shell.privilege"},
		{"dd", "dev", "Bash", sh("dd if=x of=/dev/sda"), "", []string{"Bash"}, nil, permission.Deny, "destruction.device"},
		{"nc", "dev", "Bash", sh("nc host 80"), "", []string{"Bash"}, nil, permission.Deny, "egress.raw"},
		{"dev tcp", "dev", "Bash", sh("cat < /dev/tcp/1.2.3.4/80"), "", []string{"Bash"}, nil, permission.Deny, "egress.raw"},
		{"metadata", "dev", "Bash", sh("curl http://169.254.169.254/"), "", []string{"Bash"}, nil, permission.Deny, "egress.metadata"},
		{"metadata by fetch", "dev", "WebFetch", `{"url":"http://metadata.google.internal/x"}`, "", []string{"WebFetch"}, nil, permission.Deny, "egress.metadata"},
		{"curl", "dev", "Bash", sh("curl https://example.com"), "", []string{"Bash"}, nil, permission.Ask, "egress.network"},
		{"fetch covered", "dev", "WebFetch", `{"url":"https://example.com/x"}`, "", []string{"WebFetch(domain:example.com)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"fetch of another host", "dev", "WebFetch", `{"url":"https://example.org/x"}`, "", []string{"WebFetch(domain:example.com)"}, nil, permission.Ask, "engine.default"},
		{"eval", "dev", "Bash", sh("eval ls"), "", []string{"Bash"}, nil, permission.Ask, "shell.unanalysed"},
		{"pipe to sh", "dev", "Bash", sh("base64 -d x | sh"), "", []string{"Bash"}, nil, permission.Ask, "shell.unanalysed"},
		{"bare Bash", "dev", "Bash", sh("make test"), "", []string{"Bash"}, nil, permission.Allow, "dev.allowed_tools"},
		{"substitution hides a part", "dev", "Bash", sh("make $(curl x)"), "", []string{"Bash(make *)"}, nil, permission.Ask, "egress.network"},
		{"disallowed part", "dev", "Bash", sh("ls; npm run x"), "", []string{"Bash"}, []string{"Bash(npm:*)"}, permission.Deny, "caller.disallowed"},
		{"disallowed behind a wrapper", "dev", "Bash", sh("timeout 5 /usr/bin/npm run x"), "", []string{"Bash"}, []string{"Bash(npm *)"}, permission.Deny, "caller.disallowed"},
		{"session within", "dev", "Bash", sh("claude -p hi"), "", []string{"Bash"}, nil, permission.Deny, "shell.own_session"},
		{"todo", "dev", "TodoWrite", `{}`, "", nil, nil, permission.Allow, "tools.harmless"},
		{"question", "dev", "AskUserQuestion", `{}`, "", []string{"AskUserQuestion"}, nil, permission.Ask, "tools.question"},
		{"mcp", "dev", "mcp__a__b", `{}`, "", nil, nil, permission.Ask, "engine.default"},
		{"mcp by server", "dev", "mcp__a__b", `{}`, "", []string{"mcp__a"}, nil, permission.Allow, "dev.allowed_tools"},
		{"mcp of another server", "dev", "mcp__ab__c", `{}`, "", []string{"mcp__a", "mcp__a__*"}, nil, permission.Ask, "engine.default"},
		{"agent as task", "dev", "Agent", `{"subagent_type":"Explore"}`, "", []string{"Task(Explore)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"look-alike name", "dev", "Re\u0430d", file("main.go"), "", nil, nil, permission.Deny, "engine.tool_name"},
		{"readonly write", "readonly", "Write", file("a.go"), "acceptEdits", []string{"Write"}, nil, permission.Deny, "readonly.write"},
		{"readonly ls", "readonly", "Bash", sh("ls"), "", nil, nil, permission.Allow, "shell.reads"},
		{"readonly make", "readonly", "Bash", sh("make"), "", []string{"Bash"}, nil, permission.Deny, "readonly.shell"},
		{"ci ask", "ci", "Bash", sh("git push"), "", []string{"Bash"}, nil, permission.Deny, "git.push"},
		{"ci default", "ci", "Write", file("a.go"), "", nil, nil, permission.Deny, "engine.default"},
		{"ci read", "ci", "Read", file("main.go"), "", nil, nil, permission.Allow, "reads.inside"},
		{"locked read", "locked", "Read", file("main.go"), "", nil, nil, permission.Allow, "reads.inside"},
		{"locked read outside", "locked", "Read", file("link/notes.txt"), "", []string{"Read"}, nil, permission.Deny, "locked.outside"},
		{"computed target", "dev", "Bash", sh("ls > $X"), "", []string{"Bash"}, nil, permission.Ask, "paths.write_unresolved"},
		{"touch of a computed file", "dev", "Bash", sh("touch $X"), "", []string{"Bash"}, nil, permission.Ask, "paths.write_unresolved"},
		{"list of files from a file", "dev", "Bash", sh("wc --files0-from=main.go"), "", nil, nil, permission.Ask, "shell.unanalysed"},
		{"wrapper covered", "dev", "Bash", sh("timeout 5 make x"), "", []string{"Bash(make *)"}, nil, permission.Allow, "dev.allowed_tools"},
		{"wrapper with a pattern", "dev", "Bash", sh("timeout * make x"), "", []string{"Bash(make *)"}, nil, permission.Ask, "paths.read_outside"},
		{"locked ls", "locked", "Bash", sh("ls"), "", []string{"Bash"}, nil, permission.Deny, "locked.tool"},
	} {
		t.Run(row.profile+"/"+row.name, func(t *testing.T) {
			s := sets[row.profile]
			r := request(root, row.tool, row.input)
			if row.mode != "" {
				r.Session.Mode = row.mode
			}
			r.Session.AllowedTools, r.Session.DisallowedTools = row.allowed, row.disallowed
			d := decide(t, s, r)
			if d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("got %s by %s (%s) %v %v, want %s by %s", d.Effect, d.Rule, d.Reason, d.Rules, d.Diagnostics, row.want, row.rule)
			}
		})
	}
}
