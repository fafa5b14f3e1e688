package facts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes a root with links that lead out of it, and returns it.
func tree(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/src/a.go", "root2/b.go", "outside/deep/c.txt", "home/.ssh/id_rsa"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": top + "/outside/deep", "in": "src", "loop": "loop", "gone": top + "/nowhere", "key": top + "/home/.ssh/id_rsa"} {
		if err := os.Symlink(to, filepath.Join(top, "root", name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(top, "root")
}

func resolver(root string) Resolver {
	return Resolver{Cwd: root, Roots: []string{root}, Home: filepath.Join(filepath.Dir(root), "home"), Protected: []string{filepath.Join(root, "guard")}}
}

func TestResolve(t *testing.T) {
	root := tree(t)
	top := filepath.Dir(root)
	for _, row := range []struct {
		raw                                          string
		mode                                         Mode
		inside, resolved, exists, symlink, protected bool
	}{
		{"src/a.go", Read, true, true, true, false, false},
		{root + "/src/a.go", Read, true, true, true, false, false},
		{"src/new/x.go", Write, true, true, false, false, false},
		{".", Read, true, true, true, false, false},
		{"..", Read, false, true, true, false, false},
		{"../root/src/a.go", Read, true, true, true, false, false},
		{"../root2/b.go", Read, false, true, true, false, false}, // same prefix, other folder
		{"in/a.go", Read, true, true, true, true, false},
		{"out/c.txt", Read, false, true, true, true, false},
		{"out/new.txt", Write, false, true, false, true, false},
		{"out/../src/a.go", Read, false, true, true, false, false}, // the kernel leaves through the link
		{"gone", Write, false, true, false, true, false},
		{"loop", Read, false, false, false, false, false},
		{"key", Read, false, true, true, true, true},
		{"~", Read, false, true, true, false, false},
		{"~/.ssh/id_rsa", Read, false, true, true, false, true},
		{"~other/x", Read, false, false, false, false, false},
		{" " + top + "/outside/deep/c.txt", Read, false, true, true, false, false}, // the CLI trims
		{"a\x00b", Read, false, false, false, false, false},
		{"a\u0301b", Read, false, false, false, false, false},
		{"guard/x", Write, true, true, false, false, true},
		{"guard/x", Read, true, true, false, false, false},
	} {
		p := resolver(root).Resolve(row.raw, row.mode)
		if p.Inside != row.inside || p.Resolved != row.resolved || p.Exists != row.exists || p.Symlink != row.symlink || p.Protected != row.protected {
			t.Errorf("%q: %+v", row.raw, p)
		}
		if (p.Root == root) != row.inside {
			t.Errorf("%q: root %q", row.raw, p.Root)
		}
	}
}

func TestProtection(t *testing.T) {
	r := Resolver{Cwd: "/w", Roots: []string{"/w"}, Home: "/h"}
	for raw, want := range map[string]string{
		".env": "env_file", ".ENV": "env_file", "a/.env.local": "env_file", ".env.": "env_file", ".env.example": "", "env": "", ".environment": "",
		"x.pem": "private_key", "ID_RSA": "private_key", "id_rsa.pub": "", "id_ed25519.pub": "", "id_ed25519": "private_key",
		"~/.ssh/config": "ssh", "~/.\u017Fsh/config": "ssh", "~/.aws/credentials": "aws", "~/.gnupg/x": "gnupg", ".netrc": "login_file", ".npmrc": "login_file",
		".pypirc": "login_file", "~/.\u212Aube/config": "kube", "~/.docker/config.json": "docker_login", "~/.docker/other.json": "",
		"/proc/self/environ": "process_memory", "/proc/1/environ": "process_memory", "/proc/cpuinfo": "",
		"~/.claude/.credentials.json": "cli_credentials", "~/.claude.json": "cli_credentials", ".claude/settings.json": "",
	} {
		if got := protectedBy(mustAbs(r, raw), Read); got != want {
			t.Errorf("read %q: protected by %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		".claude/settings.json": "cli_settings", ".claude/settings.local.json": "cli_settings", ".Claude/Settings.json": "cli_settings",
		".claude/hooks/x.sh": "cli_hooks", ".mcp.json": "mcp_servers", ".git/hooks/pre-commit": "git_metadata", ".git/config": "git_metadata",
		".git": "git_metadata", ".gitignore": "", ".gatehouse/x.rego": "gatehouse", "main.go": "",
	} {
		if got := protectedBy(mustAbs(r, raw), Write); got != want {
			t.Errorf("write %q: protected by %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{"a.key": "key_file", "secrets.yml": "secret_file", "CLAUDE.md": "agent_instructions", ".claude/agents/x.md": "agent_instructions", ".github/workflows/x.yml": "ci", "main.go": ""} {
		if got := sensitivity(mustAbs(r, raw), Write); got != want {
			t.Errorf("write %q: sensitive by %q, want %q", raw, got, want)
		}
	}
}

func protectedBy(abs string, mode Mode) string {
	v := NewPlaces("", nil).judge(abs)
	return v.protection(mode)
}

func sensitivity(abs string, mode Mode) string {
	p := Path{Mode: mode}
	v := NewPlaces("", nil).judge(abs)
	v.apply(&p)
	return p.SensitiveBy
}

func mustAbs(r Resolver, raw string) string {
	joined, _ := r.join(raw)
	return filepath.Clean(joined)
}

func TestDenyReadRules(t *testing.T) {
	rules := DenyReadRules()
	for _, want := range []string{"**/.env", "**/.env.*", "**/*.pem", "~/.ssh/**", "//proc/**", "**/id_rsa", "~/.claude/.credentials.json", "~/.claude.json", "**/*.pem[.~]*", "**/id_rsa.bak", "//**/.npmrc[.~]*"} {
		if !slices.Contains(rules, want) {
			t.Errorf("no rule %q", want)
		}
	}
	for _, row := range secrets { // each row has its rules, or stands beside one that covers it
		name := strings.Trim(row.pattern, "/")
		covered := slices.ContainsFunc(rules, func(r string) bool { return strings.Contains(r, name) })
		if row.rules == nil && !covered || row.rules != nil && len(row.rules) == 0 && !strings.HasPrefix(name, "proc/") {
			t.Errorf("no rule for %q", row.pattern)
		}
	}
	for _, r := range rules {
		if strings.ContainsAny(r, "() ,\n") {
			t.Errorf("rule %q would not survive Read(…)", r)
		}
	}
}

func TestPaths(t *testing.T) {
	root := tree(t)
	for _, row := range []struct {
		tool, arg, value  string
		arguments         []string
		inside, protected bool
	}{
		{"Read", "file_path", "src/a.go", []string{"/file_path"}, true, false},
		{"Write", "file_path", ".mcp.json", []string{"/file_path"}, true, true},
		{"NotebookEdit", "notebook_path", "x.ipynb", []string{"/notebook_path"}, true, false},
		{"Glob", "pattern", "**/*.{go,md}", []string{"/path", "/pattern"}, true, false},
		{"Glob", "pattern", "/etc/*", []string{"/path", "/pattern"}, false, false},
		{"Glob", "pattern", "src/*/../../../*", []string{"/path", "/pattern"}, false, false},
		{"Glob", "pattern", "{/etc,src}/*", []string{"/path", "/pattern"}, false, false},
		{"Glob", "pattern", "../*", []string{"/path", "/pattern"}, false, false},
		{"Grep", "glob", "*.go", []string{"/path", "/glob"}, true, false},
		{"Grep", "glob", ".env*", []string{"/path", "/glob"}, true, true},
		{"Grep", "glob", "**/id_?sa", []string{"/path", "/glob"}, true, true},
		{"Grep", "glob", "*", []string{"/path", "/glob"}, true, false},
		{"Bash", "command", "ls", nil, false, false},
	} {
		paths := resolver(root).Paths(row.tool, map[string]any{row.arg: row.value})
		var arguments []string
		for _, p := range paths {
			arguments = append(arguments, p.Arg)
		}
		if !slices.Equal(arguments, row.arguments) {
			t.Errorf("%s %q: arguments %q, want %q", row.tool, row.value, arguments, row.arguments)
			continue
		}
		if len(paths) > 0 {
			if last := paths[len(paths)-1]; last.Inside != row.inside || last.Protected != row.protected {
				t.Errorf("%s %q: %+v", row.tool, row.value, last)
			}
		}
	}
	for _, input := range []map[string]any{{}, {"file_path": 7}, {"file_path": " "}} {
		if p := resolver(root).Paths("Read", input); len(p) != 1 || p[0].Inside || p[0].Resolved {
			t.Errorf("%v: %+v", input, p)
		}
	}
}

func TestGitRunsPrograms(t *testing.T) {
	for config, want := range map[string]bool{
		"[core]\n\tbare = false\n[user]\n\tname = x\n": false, "[diff \"x\"]\n\ttextconv = y\n": true,
		"[include]\n\tpath = y\n": true, "[CORE]\n\tFSMonitor = y\n": true, strings.Repeat("#", maxGitConfig+1): true,
	} {
		root := tree(t)
		if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, ".git", "config"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := GitRunsPrograms(filepath.Join(root, "src")); got != want {
			t.Errorf("%.40q: %v, want %v", config, got, want)
		}
	}
	root := tree(t)
	for _, name := range []string{"HEAD", "objects"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !GitRunsPrograms(root) {
		t.Error("a bare repository is taken for harmless")
	}
}
