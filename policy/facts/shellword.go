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
	if len(word.Parts) == 1 {
		w.single(&out, word.Parts[0])
	} else {
		w.joined(&out, word.Parts)
	}
	out.Flag = strings.HasPrefix(out.Value, "-")
	if !w.Features.MixedScript && mixedScript(out.Value) {
		w.Features.MixedScript = true
	}
	return out
}

// special are the characters of unquoted text that need a closer look.
const special = "\\~=^{}*?["

// single takes a word of one part, which needs no copy in most cases.
func (w *walker) single(out *Word, part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		if !strings.ContainsAny(p.Value, special) || p.Value == "[" { // the test command is no pattern
			out.Value = p.Value
			return
		}
	case *syntax.SglQuoted:
		out.Value, out.Static, out.unknown = p.Value, !p.Dollar, p.Dollar
		return
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok && strings.IndexByte(lit.Value, '\\') < 0 {
				out.Value, out.Static, out.unknown = lit.Value, !p.Dollar, p.Dollar
				return
			}
		}
	}
	w.joined(out, []syntax.WordPart{part})
}

func (w *walker) joined(out *Word, parts []syntax.WordPart) {
	var b strings.Builder
	protected := false // a character that a pattern would take for magic
	for i, part := range parts {
		from := b.Len()
		switch p := part.(type) {
		case *syntax.Lit:
			protected = w.literal(out, &b, p.Value, i == 0) || protected
			if i == 0 && out.Tilde && len(parts) > 1 && strings.IndexByte(p.Value, '/') < 0 {
				out.Static, out.unknown = false, true // ~"/x" is no home folder, ~$x is anybody's
			}
			continue
		case *syntax.SglQuoted:
			out.unknown = out.unknown || p.Dollar
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			out.unknown = !quoted(&b, p) || out.unknown
		case *syntax.ExtGlob:
			out.Glob, out.unknown = true, true
		default:
			out.unknown = true
		}
		protected = protected || strings.ContainsAny(b.String()[from:], patternMagic)
	}
	out.Value = b.String()
	out.unknown = out.unknown || protected && (out.Glob || out.Brace)
	out.Static = out.Static && !out.unknown
}

// patternMagic are the characters with a meaning in patterns and braces.
const patternMagic = "*?[]{},\\"

// literal takes unquoted text: a backslash protects the next character. It
// reports whether one protects what a pattern gives a meaning to.
func (w *walker) literal(out *Word, b *strings.Builder, text string, first bool) (protected bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
				protected = protected || strings.IndexByte(patternMagic, text[i]) >= 0
			}
			continue
		case c == '~' && first && i == 0:
			out.Tilde = true
		case c == '=' && first && i == 0, c == '^':
			out.Static, out.unknown = false, true
		case c == '{', c == '}':
			out.Brace, out.Static = true, false
		case c == '*' || c == '?' || c == '[':
			w.Features.Glob = true
			out.Glob, out.Static = true, false
		case c == '~' && i > 0 && (text[i-1] == '=' || text[i-1] == ':'):
			out.Static, out.unknown = false, true
		}
		b.WriteByte(c)
	}
	return protected
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
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(name), ".exe")
}
