package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxErrorsShown bounds how many errors of a policy one message lists.
const maxErrorsShown = 5

// maxLineShown bounds the bytes of a line of source under an error.
const maxLineShown = 200

// readable lists a policy's errors as file:line:column: message, each with the
// line of source under it where that is known.
func readable(err error, sources ...source) error {
	var list ast.Errors
	var one *ast.Error
	switch {
	case errors.As(err, &list) && len(list) > 0:
	case errors.As(err, &one):
		list = ast.Errors{one}
	default:
		return err
	}
	var lines []string
	for i, e := range list {
		if i == maxErrorsShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		lines = append(lines, describeError(e, sources))
	}
	return errors.New(strings.Join(lines, "\n"))
}

func describeError(e *ast.Error, sources []source) string {
	text := e.Message
	if e.Details != nil {
		if more := details(e.Details.Lines(), text); more != "" {
			text += " (" + more + ")"
		}
	}
	if strings.Contains(text, "match error") && strings.Contains(text, "null") {
		text += "; what may be null is compared with is_null(x) or `not is_null(x)`"
	}
	if e.Location == nil {
		return text
	}
	text = fmt.Sprintf("%s:%d:%d: %s", e.Location.File, e.Location.Row, max(e.Location.Col, 1), text)
	if line := lineOf(sources, e.Location); line != "" {
		text += "\n\t" + line
	}
	return text
}

// details joins what the compiler adds to an error, without its drawing of the
// place: the line of source says that.
func details(lines []string, text string) string {
	var all []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && line != "^" && !strings.Contains(text, line) {
			all = append(all, line)
		}
	}
	return strings.Join(all, ", ")
}

// lineOf returns the line of source at a place, blanks around it cut off.
func lineOf(sources []source, at *ast.Location) string {
	for _, s := range sources {
		if s.name != at.File {
			continue
		}
		lines := strings.Split(s.text, "\n")
		if at.Row < 1 || at.Row > len(lines) {
			return ""
		}
		line := strings.TrimSpace(lines[at.Row-1])
		return line[:min(len(line), maxLineShown)]
	}
	return ""
}

// flaw is an error at a place in a policy.
func flaw(at *ast.Location, format string, args ...any) *ast.Error {
	return ast.NewError(ast.CompileErr, at, format, args...)
}
