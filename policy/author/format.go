package author

import (
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
)

// Format returns a source as OPA's formatter writes it. The error is a
// [*LoadError] when the source does not parse.
func Format(s policy.Source) (string, error) {
	p, err := parseAll([]policy.Source{s}, features{builtins: declarations()})
	if err != nil {
		return "", err
	}
	caps := policy.Capabilities(declarations()...)
	out, err := format.SourceWithOpts(s.Name, []byte(s.Text), format.Opts{
		RegoVersion: ast.RegoV2, Capabilities: caps,
		ParserOptions: &ast.ParserOptions{RegoVersion: ast.RegoV2, ProcessAnnotation: true, Capabilities: caps},
	})
	if err != nil {
		return "", fmt.Errorf("format %s: %w", s.Name, p.loadError(err))
	}
	return string(out), nil
}

// contextLines are shown around a difference.
const contextLines = 2

// Diff shows what changes between two texts, one line each, with - and + before
// them and line numbers of the old one. Equal texts yield "".
func Diff(name, before, after string) string {
	if before == after {
		return ""
	}
	edits := align(nil, splitLines(before), splitLines(after), 1)
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.mark != ' ' {
			for k := max(0, i-contextLines); k <= min(len(edits)-1, i+contextLines); k++ {
				near[k] = true
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s (formatted)\n", name, name)
	for i, e := range edits {
		if near[i] && (i == 0 || !near[i-1]) {
			fmt.Fprintf(&out, "@@ line %d @@\n", e.line)
		}
		if near[i] {
			fmt.Fprintf(&out, "%c%s\n", e.mark, e.text)
		}
	}
	return out.String()
}

// edit is one line of a difference.
type edit struct {
	mark byte // ' ' kept, '-' removed, '+' added
	text string
	line int // of the old text
}

func splitLines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

// align compares two lists of lines: the longest run of equal lines stays, and
// what is before and behind it is compared the same way.
func align(out []edit, a, b []string, line int) []edit {
	i, j, n := longestRun(a, b)
	if n == 0 {
		for k, s := range a {
			out = append(out, edit{'-', s, line + k})
		}
		for _, s := range b {
			out = append(out, edit{'+', s, line + len(a)})
		}
		return out
	}
	out = align(out, a[:i], b[:j], line)
	for k := range n {
		out = append(out, edit{' ', a[i+k], line + i + k})
	}
	return align(out, a[i+n:], b[j+n:], line+i+n)
}

// longestRun finds the longest equal run of lines: a[i:i+n] is b[j:j+n].
func longestRun(a, b []string) (i, j, n int) {
	places := map[string][]int{}
	for k, s := range b {
		places[s] = append(places[s], k)
	}
	ends := map[int]int{} // by place in b: length of the run that ends there
	for k, s := range a {
		next := map[int]int{}
		for _, at := range places[s] {
			length := ends[at-1] + 1
			next[at] = length
			if length > n {
				i, j, n = k-length+1, at-length+1, length
			}
		}
		ends = next
	}
	return i, j, n
}
