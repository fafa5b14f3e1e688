package facts

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Analyse reads a shell text as bash would. It never fails: a text that is not
// understood is not OK, with whatever was found, for the deny rules. It looks
// at no file, so paths and folders are left for [Resolver.Shell].
func Analyse(text string) Shell {
	a := &analysis{}
	a.Commands = []Command{}
	a.parse(text, walker{analysis: a})
	if len(a.Commands) > maxShellCommands {
		a.doubt(fmt.Sprintf("more than %d commands", maxShellCommands))
	}
	// a longer text is not analysed at all, so it never runs unasked
	a.Features.Metadata = namesMetadata(text[:min(len(text), MaxShellBytes)])
	for i := range a.Commands {
		c := &a.Commands[i]
		a.Features.Metadata = a.Features.Metadata || namesMetadata(c.Text)
		if c.Git != nil && a.steered {
			c.Git.RunsProgram = true
		}
	}
	a.OK = a.Reason == ""
	return a.Shell
}

// analysis gathers the facts of one text and the shells nested in it.
type analysis struct {
	Shell
	bytes    int  // parsed so far
	changes  int  // of the folder
	words    int  // of commands recorded so far
	steered  bool // a variable that steers later commands was set
	homeless bool // a variable that steers cd was set
}

// doubt makes the text not OK; the first reason stays.
func (a *analysis) doubt(reason string) {
	if a.Reason == "" {
		a.Reason = reason
	}
}

// parsers are reused: a new one costs more than reading a short text.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse analyses one text; w says where it was found.
func (a *analysis) parse(text string, w walker) {
	defer func() {
		if p := recover(); p != nil {
			a.doubt("the shell parser stopped on this text")
		}
	}()
	if !a.admissible(text, w.depth) {
		return
	}
	parser := parsers.Get().(*syntax.Parser) // after a panic it is not put back
	file, err := parser.Parse(strings.NewReader(text), "")
	parsers.Put(parser)
	if err != nil {
		a.doubt(fmt.Sprintf("no shell syntax: %.120s", err))
		return
	}
	w.source = text
	w.sequence(file.Stmts)
}

// admissible checks what must hold before the parser sees the text.
func (a *analysis) admissible(text string, depth int) bool {
	a.odd(text)
	a.differing(text)
	a.bytes += len(text)
	switch {
	case len(text) > MaxShellBytes || a.bytes > maxNestedBytes:
		a.Features.TooLong = true
		a.doubt(fmt.Sprintf("longer than %d bytes", MaxShellBytes))
	case depth > maxShellDepth || openers(text) > maxShellOpeners:
		a.Features.TooDeep = true
		a.doubt("nested too deeply")
	case strings.IndexByte(text, 0) >= 0:
	default:
		return true
	}
	return false
}

// keywords open a nesting that ends with another word.
var keywords = []string{"if", "while", "until", "for", "case", "select", "time", "coproc"}

// openers counts what may open a nesting. Closing characters are not
// counted against them: quoted ones would hide the true depth.
func openers(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '[', '`':
			n++
		}
	}
	if len(text) > maxShellOpeners { // a shorter one cannot hold that many
		for _, k := range keywords {
			n += strings.Count(text, k+" ") + strings.Count(text, k+"\n") + strings.Count(text, k+"\t") + strings.Count(text, k+";")
		}
	}
	return n
}
