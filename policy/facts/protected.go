package facts

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// protection is one row of the table of protected places. Its pattern is
// matched against every run of path segments, letters folded, so a row holds
// at any depth; a row that ends in "/" covers everything below.
type protection struct {
	name    string   // protected_by
	pattern string   // slash-separated globs
	except  []string // last segments that are not meant
	rules   []string // the same in the CLI's rule syntax; nil = "**/" + pattern

	want  []string // pattern, folded and split; filled by [prepared]
	below bool     // pattern ended in "/"
}

// prepared splits the patterns of a table once.
func prepared(table []protection) []protection {
	for i := range table {
		row := &table[i]
		row.below = strings.HasSuffix(row.pattern, "/")
		row.want = strings.Split(fold(strings.TrimSuffix(row.pattern, "/")), "/")
		for j, e := range row.except {
			row.except[j] = fold(e)
		}
	}
	return table
}

// secrets may be neither read nor written.
var secrets = prepared([]protection{
	{name: "env_file", pattern: ".env"},
	{name: "env_file", pattern: ".env.*", except: []string{".env.example"}},
	{name: "env_file", pattern: ".envrc"},
	{name: "private_key", pattern: "*.pem"},
	{name: "private_key", pattern: "id_rsa"},
	{name: "private_key", pattern: "id_dsa"},
	{name: "private_key", pattern: "id_ecdsa*", except: []string{"id_ecdsa.pub", "id_ecdsa_sk.pub"}, rules: []string{"**/id_ecdsa", "**/id_ecdsa_sk"}},
	{name: "private_key", pattern: "id_ed25519*", except: []string{"id_ed25519.pub", "id_ed25519_sk.pub"}, rules: []string{"**/id_ed25519", "**/id_ed25519_sk"}},
	{name: "private_key", pattern: "*.p12"},
	{name: "private_key", pattern: "*.pfx"},
	{name: "private_key", pattern: "*.kdbx"},
	{name: "ssh", pattern: ".ssh/"},
	{name: "aws", pattern: ".aws/"},
	{name: "gnupg", pattern: ".gnupg/"},
	{name: "kube", pattern: ".kube/"},
	{name: "azure", pattern: ".azure/"},
	{name: "gcloud", pattern: ".config/gcloud/"},
	{name: "github_cli", pattern: ".config/gh/"},
	{name: "docker_login", pattern: ".docker/config.json"},
	{name: "login_file", pattern: ".netrc"},
	{name: "login_file", pattern: "_netrc"},
	{name: "login_file", pattern: ".npmrc"},
	{name: "login_file", pattern: ".pypirc"},
	{name: "login_file", pattern: ".pgpass"},
	{name: "login_file", pattern: ".git-credentials"},
	{name: "login_file", pattern: ".config/git/credentials"},
	{name: "cli_credentials", pattern: ".claude/.credentials.json"},
	{name: "cli_credentials", pattern: ".claude.json"},
	{name: "process_memory", pattern: "proc/*/environ", rules: []string{"//proc/**"}},
	{name: "process_memory", pattern: "proc/*/task/*/environ", rules: []string{}},
	{name: "process_memory", pattern: "proc/*/mem", rules: []string{}},
	{name: "process_memory", pattern: "proc/*/fd/", rules: []string{}},
})

// guards may not be written: they decide what later calls may do.
var guards = prepared([]protection{
	{name: "cli_settings", pattern: ".claude/settings*.json"},
	{name: "cli_settings", pattern: "managed-settings*.json"},
	{name: "cli_hooks", pattern: ".claude/hooks/"},
	{name: "mcp_servers", pattern: ".mcp.json"},
	{name: "git_metadata", pattern: ".git/"},
	{name: "git_config", pattern: ".gitconfig"},
	{name: "git_config", pattern: ".config/git/"},
	{name: "gatehouse", pattern: ".gatehouse/"},
	{name: "gatehouse", pattern: "gatehouse.toml"},
})

// doubtful places are worth a question.
var doubtful = prepared([]protection{
	{name: "key_file", pattern: "*.key"},
	{name: "secret_file", pattern: "secrets*"},
})

// doubtfulWrites are worth a question when written: they steer agents or start programs later.
var doubtfulWrites = prepared([]protection{
	{name: "agent_instructions", pattern: "claude.md"},
	{name: "agent_instructions", pattern: "claude.local.md"},
	{name: "agent_instructions", pattern: ".claude/"},
	{name: "ci", pattern: ".github/workflows/"},
	{name: "ci", pattern: ".gitlab-ci.yml"},
	{name: "git_attributes", pattern: ".gitattributes"},
	{name: "git_attributes", pattern: ".gitmodules"},
	{name: "editor_tasks", pattern: ".vscode/"},
	{name: "shell_start", pattern: ".bashrc"},
	{name: "shell_start", pattern: ".bash_profile"},
	{name: "shell_start", pattern: ".profile"},
	{name: "shell_start", pattern: ".zshrc"},
	{name: "shell_start", pattern: ".zshenv"},
})

// DenyReadRules returns the secret files as patterns of the CLI's permission
// rules, to be wrapped as Read(pattern). They stop what passes no gate: @path
// mentions in prompts, commands and imported memory files, and searches. The
// CLI has no exceptions, so they cover .env.example too.
func DenyReadRules() []string {
	var rules []string
	for _, row := range secrets {
		switch {
		case row.rules != nil:
			rules = append(rules, row.rules...)
		case strings.HasSuffix(row.pattern, "/"):
			rules = append(rules, "**/"+row.pattern+"**", "~/"+row.pattern+"**", "//**/"+row.pattern+"**")
		default:
			rules = append(rules, "**/"+row.pattern, "~/"+row.pattern, "//**/"+row.pattern)
		}
	}
	return rules
}

// protection names what protects an absolute path, or "".
func (r Resolver) protection(abs string, mode Mode) string {
	folded := foldPath(abs)
	if by := match(secrets, folded); by != "" {
		return by
	}
	if mode != Write {
		return ""
	}
	for _, own := range r.Protected {
		if own != "" && Within(fold(own), fold(abs)) {
			return "gatehouse"
		}
	}
	return match(guards, folded)
}

func sensitivity(abs string, mode Mode) string {
	folded := foldPath(abs)
	if by := match(doubtful, folded); by != "" || mode != Write {
		return by
	}
	return match(doubtfulWrites, folded)
}

func match(table []protection, segs []string) string {
	for i := range table {
		if table[i].matches(segs) {
			return table[i].name
		}
	}
	return ""
}

func (row *protection) matches(segs []string) bool {
	if len(segs) > 0 && slices.Contains(row.except, segs[len(segs)-1]) {
		return false
	}
	first := 0
	if !row.below { // the pattern must end where the path ends
		first = max(0, len(segs)-len(row.want))
	}
	for i := first; i+len(row.want) <= len(segs); i++ {
		if matchRun(row.want, segs[i:]) {
			return true
		}
	}
	return false
}

func matchRun(want, segs []string) bool {
	for i, w := range want {
		if !strings.ContainsAny(w, "*?[") {
			if w != segs[i] {
				return false
			}
			continue
		}
		if ok, err := path.Match(w, segs[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// foldPath splits a path into folded segments. Dots and blanks at the end go,
// as Windows ignores them, and so does a stream name after a colon.
func foldPath(abs string) []string {
	segs := segments(filepath.ToSlash(abs[len(filepath.VolumeName(abs)):]))
	for i, s := range segs {
		if name, _, found := strings.Cut(s, ":"); found && name != "" {
			s = name
		}
		segs[i] = fold(strings.TrimRight(s, ". "))
	}
	return segs
}

// fold maps letters that some file system takes for the same to one of them,
// the Kelvin sign and the long s included.
func fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}
