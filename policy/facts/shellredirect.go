package facts

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) redirects(list []*syntax.Redirect) []Redirect {
	if len(list) == 0 {
		return nil
	}
	all := make([]Redirect, len(list))
	for i, r := range list {
		all[i] = w.redirect(r)
	}
	return all
}

func (w *walker) expandRedirects(list []*syntax.Redirect) {
	for _, r := range list {
		w.expand(r.Word)
		if r.Hdoc != nil {
			w.expand(r.Hdoc)
		}
	}
}

func (w *walker) redirect(r *syntax.Redirect) Redirect {
	out := Redirect{Op: r.Op.String(), FD: -1}
	w.differingRedirect(r)
	if r.N != nil {
		if n, err := strconv.Atoi(r.N.Value); err == nil {
			out.FD = n
		} else {
			w.Features.Assign, w.Features.AssignLater = true, true
			w.sets(strings.Trim(r.N.Value, "{}"))
		}
	}
	t := w.word(r.Word)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.Features.Heredoc = true
		w.heredoc(r, &out)
	case syntax.WordHdoc:
		out.Static, out.text = t.Static, t.Value
	default:
		out.Target, out.Static, out.tilde = t.Value, t.Static, t.Tilde
		out.Writes = opens(r.Op, t)
	}
	return out
}

// heredoc describes the text of a here-document.
func (w *walker) heredoc(r *syntax.Redirect, out *Redirect) {
	h := &Heredoc{}
	out.Heredoc, out.Static = h, true
	for _, part := range r.Word.Parts {
		lit, plain := part.(*syntax.Lit)
		h.Quoted = h.Quoted || !plain || strings.Contains(lit.Value, `\`)
	}
	if r.Hdoc == nil {
		return
	}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, plain := part.(*syntax.Lit)
		if !plain || !h.Quoted && strings.Contains(lit.Value, `\`) {
			w.Features.HeredocExpand = true
			out.Static = out.Static && plain
		}
		if plain {
			b.WriteString(lit.Value)
		}
	}
	out.text = b.String()
	if r.Op == syntax.DashHdoc { // blanks before the closing word
		out.text = strings.TrimRight(out.text, "\t")
	}
	h.Bytes = len(out.text)
	if !out.Static { // the parser counts the closing line
		h.Bytes = max(h.Bytes, int(r.Hdoc.End().Offset()-r.Hdoc.Pos().Offset())-len(w.word(r.Word).Value))
	}
}

// opens reports whether a redirection opens a file for writing. >& and <&
// only duplicate when a number or "-" follows.
func opens(op syntax.RedirOperator, target Word) bool {
	switch op {
	case syntax.RdrIn:
		return false
	case syntax.DplIn, syntax.DplOut:
		return !target.Static || !descriptor.MatchString(target.Value)
	}
	return true
}
