package facts

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call records a simple command, then what is substituted in its words. The
// shell runs those first, so they are in the folder that was before.
func (w *walker) call(s *syntax.Stmt, call *syntax.CallExpr) (moves bool) {
	before := w.at
	if len(call.Args) == 0 {
		w.Features.AssignLater = w.Features.AssignLater || len(call.Assigns) > 0
		w.opened(s)
	} else {
		w.simple(s, call)
	}
	after := w.at
	w.at = before
	for _, as := range call.Assigns {
		syntax.Walk(as, w.visit)
	}
	for _, arg := range call.Args {
		w.expand(arg)
	}
	if len(call.Args) > 0 {
		w.expandRedirects(s.Redirs)
	}
	if w.at != before {
		after = lost
	}
	w.at = after
	return w.at != before && w.at != lost
}

// simple records a simple command.
func (w *walker) simple(s *syntax.Stmt, call *syntax.CallExpr) {
	c := Command{Redirects: w.redirects(s.Redirs), Via: w.via, InSubstitution: w.sub}
	for _, as := range call.Assigns {
		if as.Name != nil {
			c.Env = append(c.Env, Variable{Name: as.Name.Value, Static: as.Array == nil && (as.Value == nil || w.word(as.Value).Static)})
			w.homeless = w.homeless || homeVariables(as.Name.Value)
		}
	}
	words := make([]Word, len(call.Args))
	for i, arg := range call.Args {
		words[i] = w.word(arg)
	}
	w.command(c, words)
}

// command records words as one command and looks behind it.
func (w *walker) command(c Command, words []Word) {
	words = w.affordable(words)
	name := words[0]
	c.Args, c.Depth = words[1:], w.depth
	c.at, c.in = w.at, w.at
	c.Name = Name{Value: name.Value, Static: name.Static, tilde: name.Tilde}
	if name.Static && !name.Tilde {
		c.Name.Basename = baseName(name.Value)
	}
	c.describe()
	if c.Name.Basename == "" {
		w.Features.DynamicName = true
		w.doubt("a command whose name is only known at run time")
	}
	if strings.ContainsAny(c.Name.Basename, " \t\n;|&<>=") {
		w.doubt("a command whose name is no plain word")
	}
	w.subscripted(&c)
	wrapped := w.unwrap(&c)
	c.Git = gitFacts(&c)
	w.add(c)
	if c.Name.Basename == "" {
		w.at = lost // it could be cd
	}
	if wrapped != nil {
		wrapped()
	}
}

// affordable cuts what exceeds the words of a text; the first stays.
func (a *analysis) affordable(words []Word) []Word {
	left := max(1, maxShellWords-a.words)
	a.words += len(words)
	if len(words) > left {
		a.Features.TooLong = true
		a.doubt(fmt.Sprintf("more than %d words", maxShellWords))
		words = words[:left]
	}
	return words
}

// describe joins the command's words.
func (c *Command) describe() {
	c.Static = c.Name.Static
	n := len(c.Name.Value)
	for i := range c.Args {
		c.Static = c.Static && c.Args[i].Static
		n += 1 + len(c.Args[i].Value)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(c.Name.Value)
	for i := range c.Args {
		b.WriteByte(' ')
		b.WriteString(c.Args[i].Value)
	}
	c.Text = b.String()
}

func (w *walker) add(c Command) {
	if len(w.Commands) < maxCommandsKept {
		c.Args, c.Env = some(c.Args), some(c.Env)
		c.Redirects, c.Via = some(c.Redirects), some(c.Via)
		w.Commands = append(w.Commands, c)
	}
}

// some replaces a nil list, so that an empty one is written as [], not null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
