package facts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subscripts are commands that take names of variables. The shell evaluates
// the subscript of such a name, quoted or not: printf -v 'a[$(date)]' x.
var subscripts = []string{"printf", "test", "[", "let", "read", "unset", "wait", "mapfile", "readarray", "getopts",
	"declare", "typeset", "local", "export", "readonly"}

const hiddenSubscript = "a subscript that the shell evaluates"

// subscripted doubts a command whose arguments hide code in a subscript.
func (w *walker) subscripted(c Command) {
	if slices.Contains(subscripts, c.Name.Basename) && slices.ContainsFunc(c.Args, func(a Word) bool {
		return strings.Contains(a.Value, "[") && strings.ContainsAny(a.Value, "$`")
	}) {
		w.doubt(hiddenSubscript)
	}
}

// arithmetic doubts a clause whose quoted text holds code: where the shell
// computes, it evaluates the subscripts in its operands' values.
func (w *walker) arithmetic(root syntax.Node) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			if codeLike(quotedText(n)) {
				w.doubt(hiddenSubscript)
			}
		case *syntax.CmdSubst, *syntax.ProcSubst: // looked at as commands
			return false
		}
		return true
	})
}

func codeLike(text string) bool {
	return strings.Contains(text, "`") || strings.Contains(text, "$") && strings.ContainsAny(text, "([{")
}

// quotedText joins what a word holds literally, whatever the quotes. ANSI-C
// quotes may spell anything, so they stand for code themselves.
func quotedText(word *syntax.Word) string {
	var b strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				b.WriteByte('`')
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				if lit, ok := in.(*syntax.Lit); ok {
					b.WriteString(lit.Value)
				}
			}
		}
	}
	return b.String()
}

// expansion doubts parameter expansions that evaluate the parameter's value.
func (w *walker) expansion(p *syntax.ParamExp) {
	if p.Excl || p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		w.doubt("an expansion that the shell evaluates")
	}
	if p.Index != nil || p.Slice != nil {
		w.arithmetic(p)
	}
}
