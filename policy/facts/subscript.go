package facts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subscripts are commands that take names of variables. The shell evaluates
// the subscript of such a name, quoted or not: printf -v 'a[$(date)]' x.
var subscripts = setOf("printf", "test", "[", "let", "read", "unset", "wait", "mapfile", "readarray", "getopts",
	"declare", "typeset", "local", "export", "readonly")

const hiddenSubscript = "a subscript that the shell evaluates"

// subscripted doubts a command whose arguments hide code in a subscript, or
// that sets a variable which steers later commands.
func (w *walker) subscripted(c *Command) {
	name := c.Name.Basename
	if !subscripts[name] {
		return
	}
	for i, a := range c.Args {
		if strings.Contains(a.Value, "[") && strings.ContainsAny(a.Value, "$`") {
			w.doubt(hiddenSubscript)
		}
		target := a.Value
		switch name {
		case "test", "[":
			continue
		case "printf":
			if attached, ok := strings.CutPrefix(target, "-v"); ok && attached != "" {
				target = attached
			} else if i == 0 || c.Args[i-1].Value != "-v" {
				continue
			}
		}
		if !a.Static && a.Value == "" && name != "wait" {
			w.doubt(name + " of a name that is only known at run time")
			w.homeless = true
		}
		if i := strings.IndexAny(target, "=[+"); i > 0 {
			target = target[:i]
		}
		w.sets(target)
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
	if p.Exp != nil && p.Param != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		w.Features.Assign, w.Features.AssignLater = true, true
		w.sets(p.Param.Value)
	}
	if p.Index != nil || p.Slice != nil {
		w.arithmetic(p)
	}
}
