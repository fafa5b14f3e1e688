package facts

import (
	"slices"
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
	r = r.ready()
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
			p = r.search(input, text, tool, a.mode)
		default:
			p = r.named(text, a.mode)
		}
		p.Arg = "/" + a.name
		found = append(found, p)
	}
	return found
}

// named resolves a path that is used as it stands. What it would meet as a
// pattern is told beside.
func (r Resolver) named(text string, mode Mode) Path {
	p := r.Resolve(text, mode)
	if mode == Read && magic(text) {
		p.Glob = r.meet([]string{text}, mode, searchStyle).Glob
		p.Glob.Pattern = text
	}
	return p
}

// search resolves a pattern below the call's own path. One that may climb is
// not inside; one that spells a secret is protected.
func (r Resolver) search(input map[string]any, text, tool string, mode Mode) Path {
	base := r
	if dir, _ := input["path"].(string); dir != "" {
		base.Cwd = r.Resolve(dir, mode).Abs
	}
	words := []string{text}
	if tool == "Grep" {
		words = globList(text)
	}
	p := base.meet(slices.Compact(words), mode, searchStyle)
	p.Raw, p.Glob.Pattern = text, text
	if climbing.MatchString(text) {
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	if len(words) > maxSpellings {
		p.Protected, p.ProtectedBy = true, "pattern"
		return p
	}
	for _, w := range words {
		all, _ := plainBraces(w)
		for _, one := range all {
			if by := spells(one); by != "" && !p.Protected {
				p.Protected, p.ProtectedBy, p.Glob.MatchesProtected = true, by, true
			}
		}
	}
	return p
}

// globList splits the globs of Grep as the CLI does: at blanks, and at commas
// that stand in no braces. A leading ! excludes, so it meets everything else.
func globList(text string) []string {
	var all []string
	for _, word := range strings.Fields(text) {
		parts := []string{word}
		if !strings.Contains(word, "{") || !strings.Contains(word, "}") {
			parts = strings.Split(word, ",")
		}
		for _, part := range parts {
			if strings.HasPrefix(part, "!") {
				part = "**"
			}
			if part != "" {
				all = append(all, part)
			}
		}
	}
	if len(all) == 0 {
		return []string{text}
	}
	return all
}

// climbing finds what can lead a glob out of its folder behind the fixed
// beginning, and escapes, which are not followed.
var climbing = lazily(`[*?[{\\].*\.\.|\\`)
