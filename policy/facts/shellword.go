package facts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word unquotes a word. It is static only if every shell passes the same
// text: no expansion, no glob, no brace, no leading "=" (which zsh expands).
func (w *walker) word(word *syntax.Word) Word {
	if word == nil {
		return Word{}
	}
	out := Word{Static: true}
	var b strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			w.literal(&out, &b, p.Value, i == 0)
		case *syntax.SglQuoted:
			out.Static = out.Static && !p.Dollar
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			out.Static = quoted(&b, p) && out.Static
		default:
			out.Static = false
		}
	}
	out.Value = b.String()
	out.Flag = strings.HasPrefix(out.Value, "-")
	return out
}

// literal takes unquoted text: a backslash protects the next character.
func (w *walker) literal(out *Word, b *strings.Builder, text string, first bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		case c == '~' && first && i == 0:
			out.Tilde = true
		case c == '=' && first && i == 0, c == '^':
			out.Static = false
		case c == '{', c == '}':
			out.Brace, out.Static = true, false
		case c == '*' || c == '?' || c == '[':
			w.Features.Glob = true
			out.Glob, out.Static = true, false
		case c == '~' && i > 0 && (text[i-1] == '=' || text[i-1] == ':'):
			out.Static = false
		}
		b.WriteByte(c)
	}
}

// quoted takes text in double quotes and reports whether all of it is known.
func quoted(b *strings.Builder, q *syntax.DblQuoted) bool {
	static := !q.Dollar
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			static = false
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\\n", lit.Value[i+1]) >= 0 {
				if i++; lit.Value[i] == '\n' {
					continue
				}
				c = lit.Value[i]
			}
			b.WriteByte(c)
		}
	}
	return static
}

// baseName is the last path element, letters lowered, without .exe.
func baseName(path string) string {
	name := strings.ReplaceAll(path, `\`, "/")
	name = strings.ToLower(name[strings.LastIndex(name, "/")+1:])
	return strings.TrimSuffix(name, ".exe")
}
