package policy

import (
	"path/filepath"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// coversHost matches a domain: itself, *.domain for every host below it, or *.
func coversHost(domain, host string) bool {
	if suffix, ok := strings.CutPrefix(domain, "*."); ok {
		return suffix != "" && strings.HasSuffix(host, "."+suffix)
	}
	return domain == "*" || domain == host
}

// coversCommand matches one command's text: "git push:*" and "git push *" by
// whole words, "git push*" by prefix, "* --version" and "git * main" with stars
// for anything, else exactly.
func coversCommand(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok && !strings.Contains(prefix, "*") {
		return prefix != "" && (text == prefix || strings.HasPrefix(text, prefix+" "))
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && text == bare && !strings.Contains(bare, "*") {
		return true
	}
	return coversText(pattern, text)
}

// coversText matches stars for any text, in time of at most both lengths
// multiplied.
func coversText(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0: // let the last star take one more
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// coversPath matches a path pattern as gitignore does: //x is absolute, ~/x
// below home, /x and x/y below the session's folder, x at any depth of it. The
// path is where the call really leads, whatever folder the word was written in.
// An allow needs the written and the real path, a disallow one of them, letters
// folded.
func (m matcher) coversPath(r callerRule, p facts.Path) bool {
	if r.tool == "Edit" && m.in.Tool.Name == "Bash" && p.Mode != facts.Write {
		return false
	}
	base, pattern := m.anchored(strings.TrimPrefix(r.pattern, "./"))
	want := strings.Split(strings.TrimSuffix(pattern, "/"), "/")
	for _, abs := range []string{p.Abs, p.Real} {
		if m.below(base, abs, want) != m.allow {
			return !m.allow
		}
	}
	return m.allow
}

// anchored returns the folder a pattern begins in, and the pattern below it.
func (m matcher) anchored(pattern string) (base, rest string) {
	switch {
	case strings.HasPrefix(pattern, "//"):
		return string(filepath.Separator), pattern[2:]
	case strings.HasPrefix(pattern, "~/"):
		return m.resolver.Home, pattern[2:]
	case strings.HasPrefix(pattern, "/"):
		return m.in.Session.Cwd, pattern[1:]
	case !strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		return m.in.Session.Cwd, "**/" + pattern
	}
	return m.in.Session.Cwd, pattern
}

// below reports whether abs lies in base and matches there.
func (m matcher) below(base, abs string, want []string) bool {
	if base == "" || !facts.Within(base, abs) {
		return false
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return false
	}
	have := strings.Split(filepath.ToSlash(rel), "/")
	if !m.allow {
		want, have = lowered(want), lowered(have)
	}
	return coversSegments(want, have)
}

func lowered(segments []string) []string {
	out := make([]string, len(segments))
	for i, s := range segments {
		out[i] = strings.ToLower(s)
	}
	return out
}

// coversSegments matches a path's segments: ** stands for any number of them,
// and what lies below a matched folder is matched. Time is at most both lengths
// multiplied.
func coversSegments(pattern, path []string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for p < len(pattern) {
		switch {
		case pattern[p] == "**" && p+1 == len(pattern):
			return t < len(path) // x/** is not x itself
		case pattern[p] == "**":
			star, mark = p, t
			p++
		case t < len(path) && coversSegment(pattern[p], path[t]):
			p++
			t++
		case star >= 0 && mark < len(path):
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return true
}

func coversSegment(pattern, segment string) bool {
	ok, err := filepath.Match(pattern, segment)
	return err == nil && ok
}
