package facts

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// argument is one argument of a built-in tool that names a path.
type argument struct {
	name string
	mode Mode
	glob bool // a pattern: only its fixed beginning is a path
	cwd  bool // absent means the working folder
}

// tools lists the path arguments of the CLI's tools, by exact name.
var tools = map[string][]argument{
	"Read":         {{name: "file_path", mode: Read}},
	"NotebookRead": {{name: "notebook_path", mode: Read}},
	"Write":        {{name: "file_path", mode: Write}},
	"Edit":         {{name: "file_path", mode: Write}},
	"MultiEdit":    {{name: "file_path", mode: Write}},
	"NotebookEdit": {{name: "notebook_path", mode: Write}},
	"LS":           {{name: "path", mode: Read, cwd: true}},
	"Glob":         {{name: "path", mode: Read, cwd: true}, {name: "pattern", mode: Read, glob: true}},
	"Grep":         {{name: "path", mode: Read, cwd: true}, {name: "glob", mode: Read, glob: true}},
	"LSP":          {{name: "filePath", mode: Read}},
}

// Known reports whether the path arguments of a tool are known. Of other
// tools nothing can be said: an empty list of paths then means nothing.
func Known(tool string) bool { return tools[tool] != nil }

// Paths returns the path arguments of a call of a built-in tool. An argument
// that is missing or no string yields a path that is not inside.
func (r Resolver) Paths(tool string, input map[string]any) []Path {
	found := []Path{}
	for _, a := range tools[tool] {
		value, present := input[a.name]
		text, isText := value.(string)
		var p Path
		switch {
		case !present && a.glob:
			continue
		case (!present || text == "" && isText) && a.cwd:
			p = r.Resolve(r.Cwd, a.mode)
		case !isText || trim(text) == "":
			p = Path{Mode: a.mode, Raw: text}
		case a.glob:
			p = r.pattern(input, text, a.mode)
		default:
			p = r.Resolve(text, a.mode)
		}
		p.Arg = fmt.Sprintf("/%s", a.name)
		found = append(found, p)
	}
	return found
}

// pattern resolves the fixed beginning of a glob below the call's own path.
// A pattern that may climb is outside; one that spells a secret is protected.
func (r Resolver) pattern(input map[string]any, glob string, mode Mode) Path {
	base := r
	if dir, _ := input["path"].(string); dir != "" {
		base.Cwd = r.Resolve(dir, mode).Abs
	}
	fixed := strings.TrimLeft(glob, "!")
	if i := strings.IndexAny(fixed, `*?[{\`); i >= 0 {
		fixed = fixed[:strings.LastIndex(fixed[:i], "/")+1]
	}
	if fixed == "" {
		fixed = "."
	}
	p := base.Resolve(fixed, mode)
	p.Raw = glob
	if climbs.MatchString(glob) {
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	if by := spells(glob); by != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, by
	}
	return p
}

// climbs finds what can lead a glob out of its folder behind the fixed beginning.
var climbs = regexp.MustCompile(`[*?[{\\].*\.\.|\{[^}]*[/~]|\\`)

// samples are names of secrets that a pattern is tried against.
var samples = []string{".env", ".env.local", ".env.production", "server.pem", "id_rsa", "id_ed25519", "id_ecdsa", ".netrc", ".npmrc", ".pypirc", ".credentials.json", ".claude.json", ".git-credentials", ".pgpass"}

// spells names the protection of a secret that a glob is written for. A glob
// such as * or *.* meets secrets by accident; there the CLI's own deny rules hold.
func spells(glob string) string {
	last := fold(path.Base(glob))
	if len(strings.Trim(last, "*?.")) < 2 {
		return ""
	}
	for _, s := range samples {
		if ok, _ := path.Match(last, fold(s)); ok {
			return match(secrets, []string{"x", fold(".claude"), fold(s)})
		}
	}
	return match(secrets, foldPath("/"+strings.NewReplacer("*", "", "?", "").Replace(glob)))
}
