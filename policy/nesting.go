package policy

import "fmt"

// maxNesting bounds the brackets around one place of a project's module: parser
// and compiler go down into them by recursion.
const maxNesting = 64

// nesting refuses a project's module that nests deeply, before it is parsed, and
// texts with expressions in them, which nest as well.
func (r rights) nesting(s source) error {
	if r.project == nil {
		return nil
	}
	depth, row := 0, 1
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case '\n':
			row++
		case '#':
			i = endOfLine(s.text, i) - 1
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return fmt.Errorf("%s:%d: more than %d brackets around one place", s.name, row, maxNesting)
			}
		case ')', ']', '}':
			depth--
		case '$':
			return fmt.Errorf("%s:%d: a project policy may not use $ texts", s.name, row)
		case '"', '`':
			end := endOfText(s.text, i)
			for _, b := range []byte(s.text[i:end]) {
				if b == '\n' {
					row++
				}
			}
			i = end - 1
		}
	}
	return nil
}

func endOfLine(text string, i int) int {
	for i < len(text) && text[i] != '\n' {
		i++
	}
	return i
}

// endOfText returns the place behind a text that begins at i.
func endOfText(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case quote == '"' && text[i] == '\\':
			i++
		case quote == '"' && text[i] == '\n':
			return i // the parser complains
		}
	}
	return len(text)
}
