package facts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What the parser and a shell read differently is doubted before it is parsed,
// without regard to quotes: a text that only looks so is asked about once too
// often, and no command hides in the difference.

const differs = "a text that shells do not all read alike: "

var (
	// duplication is what may follow >& and <& without a blank: a number, closed or not, or "-".
	duplication = lazily("^([0-9]{1,3}-?|-)([ \t\n;|&<>()\"'`]|$)")
	// dupTarget is what may follow them with a blank: a word, which bash takes for
	// "-" and another word where it begins with one.
	dupTarget = lazily(`^[ \t]+([^- \t\n]|-([ \t\n;|&<>()]|$))`)
	// variable is a variable's name.
	variable = lazily(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// timed is time where it is surely the shell's own.
	timed = lazily(`^time[ \t]+(-p[ \t]+)?[A-Za-z0-9_./({]`)
	// descriptor is a target that only duplicates or closes.
	descriptor = lazily(`^([0-9]+-?|-)$`)
	// plainTarget is a file's name that every shell reads alike.
	plainTarget = lazily(`^[A-Za-z_./][\w./+-]*$`)
	// delimiter is a plain closing word of a here-document, quoted as a whole or not at all.
	delimiter = lazily(`^(\w+|'\w+'|"\w+"|\\\w+)$`)
	// bashOnly is what other shells than bash read as commands, or not at all.
	bashOnly = lazily(`\[\[|\(\(|&>|\|&|[<>]\(|\$['"\[]|<<<|;&|\+=|=\(|(?m:^|[\s;&|({])(time|function|select|coproc|declare|typeset|local|let|source)\s`)
)

// differing doubts text that bash may read otherwise than the parser.
func (a *analysis) differing(text string) {
	switch {
	case joinsLines(text):
		a.doubt(differs + "a backslash ends a line behind something else than a blank, in a comment or at the end")
	case duplicatesOddly(text):
		a.doubt(differs + ">& or <& with something else than a number behind it")
	}
}

// joinsLines reports a line that a backslash joins to the next other than
// between two words.
func joinsLines(text string) bool {
	if strings.HasSuffix(text, `\`) {
		return true
	}
	for start, i := 0, strings.Index(text, "\\\n"); i >= 0; {
		line := text[start : start+i]
		line = line[strings.LastIndexByte(line, '\n')+1:]
		if trimmed := strings.TrimRight(line, " \t"); trimmed == line || trimmed == "" || strings.IndexByte(line, '#') >= 0 {
			return true
		}
		start += i + 2
		i = strings.Index(text[start:], "\\\n")
	}
	return false
}

func duplicatesOddly(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if c := text[i]; (c == '>' || c == '<') && text[i+1] == '&' && !duplication.MatchString(text[i+2:]) && !dupTarget.MatchString(text[i+2:]) {
			return true
		}
	}
	return false
}

// differingNode doubts constructs that shells parse differently.
func (w *walker) differingNode(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CoprocClause:
		w.doubt(differs + "coproc")
	case *syntax.Assign:
		if n.Name != nil && !variable.MatchString(n.Name.Value) {
			w.doubt(differs + "an assignment to what is no variable's name")
		}
	case *syntax.TimeClause:
		if n.Stmt == nil || !timed.MatchString(w.written(n)) {
			w.doubt(differs + "time with more than a command behind it")
		}
	case *syntax.BinaryTest:
		if n.Op == syntax.TsReMatch {
			w.doubt(differs + "a regular expression behind =~")
		}
	case *syntax.CmdSubst:
		if text := w.written(n); n.Backquotes && (strings.IndexByte(text, '\\') >= 0 || strings.Contains(text, "<<")) {
			w.doubt(differs + "a backslash or a here-document in backquotes")
		}
	case *syntax.ArithmExp:
		if n.Bracket {
			w.doubt(differs + "$[")
		}
	}
}

// inPipe doubts time behind a pipe's sign, where it is a program.
func (w *walker) inPipe(b *syntax.BinaryCmd) {
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
		return
	}
	if _, keyword := b.Y.Cmd.(*syntax.TimeClause); keyword || b.Y.Negated {
		w.doubt(differs + "time or ! behind a pipe's sign")
	}
}

// written is the source of a node; empty when nobody can tell.
func (w *walker) written(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || from > to || to > len(w.source) {
		return ""
	}
	return w.source[from:to]
}

// differingRedirect doubts redirections that shells read differently.
func (w *walker) differingRedirect(r *syntax.Redirect) {
	switch {
	case r.N != nil && (len(r.N.Value) > 3 || strings.HasPrefix(r.N.Value, "{")):
		w.doubt(differs + "a file descriptor that is no small number")
	case r.Op == syntax.DplIn || r.Op == syntax.DplOut:
		if word := w.written(r.Word); !descriptor.MatchString(word) && !plainTarget.MatchString(word) {
			w.doubt(differs + ">& or <& with an odd word")
		}
	case r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc:
		w.differingHeredoc(r)
	}
}

func (w *walker) differingHeredoc(r *syntax.Redirect) {
	word := w.written(r.Word)
	plain := strings.Trim(word, `'"\`)
	switch {
	case r.Hdoc != nil && !closes(w.source[min(int(r.Word.End().Offset()), len(w.source)):], plain):
		w.doubt(differs + "a here-document without its closing line")
	case !delimiter.MatchString(word):
		w.doubt(differs + "a here-document with an odd closing word")
	case r.Hdoc == nil:
	case strings.Contains(w.written(r.Hdoc), "\\\n") && word == plain:
		w.doubt(differs + "a here-document in which a backslash joins lines")
	}
}

// closes reports a line that ends a here-document.
func closes(text, word string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSuffix(strings.TrimLeft(line, "\t"), "\n") == word {
			return true
		}
	}
	return false
}
