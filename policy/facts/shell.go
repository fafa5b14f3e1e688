package facts

import (
	"fmt"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the shell analysis. The parser is recursive and a Go stack
// overflow cannot be recovered, so text beyond them is not parsed at all.
const (
	MaxShellBytes    = 16 << 10 // longest text that is parsed
	maxShellOpeners  = 512      // brackets, braces and backquotes in one text
	maxShellCommands = 20       // more than these are nobody's everyday command
	maxShellDepth    = 4        // shells within shells
)

// Word is one word of a command.
type Word struct {
	Value  string `json:"value"`  // unquoted; what is known of it when not static
	Static bool   `json:"static"` // the shell passes exactly Value
	Flag   bool   `json:"flag"`   // begins with "-", so it may be an option
	Glob   bool   `json:"glob"`   // holds an unquoted *, ? or [
	Tilde  bool   `json:"tilde"`  // an unquoted ~ stands first
	Brace  bool   `json:"brace"`  // holds unquoted braces
	Path   *Path  `json:"path"`   // filled by [Resolver.Shell]; nil when the word names none
}

// Variable is one assignment before a command.
type Variable struct {
	Name   string `json:"name"`
	Static bool   `json:"static"` // the value is known before it runs
}

// Name is the word a command is started by.
type Name struct {
	Value    string `json:"value"` // as written, unquoted
	Static   bool   `json:"static"`
	Basename string `json:"basename"` // last segment, letters lowered, without .exe; empty when only known at run time
	Path     *Path  `json:"path"`     // where the name holds a separator, as in ./build.sh; else nil
}

// Folder is the working folder of a command.
type Folder struct {
	Value string `json:"value"` // absolute; empty when not known
	Known bool   `json:"known"`
}

// Heredoc is the text of a here-document.
type Heredoc struct {
	Quoted bool `json:"quoted"` // nothing in it is expanded
	Bytes  int  `json:"bytes"`
}

// Redirect is one redirection.
type Redirect struct {
	Op      string   `json:"op"`     // as the shell writes it
	FD      int      `json:"fd"`     // the number before it; -1 when none is written
	Target  string   `json:"target"` // "1" of a duplication, empty for a here-document
	Static  bool     `json:"static"`
	Writes  bool     `json:"writes"`  // opens a file for writing
	Heredoc *Heredoc `json:"heredoc"` // nil for others
	Path    *Path    `json:"path"`    // nil when it opens no file that could matter

	tilde bool
}

// Command is one program that a shell text would start.
type Command struct {
	Name           Name       `json:"name"`
	Text           string     `json:"text"` // name and arguments joined by blanks, for rules of the form Bash(…)
	Static         bool       `json:"static"`
	Args           []Word     `json:"args"`
	Env            []Variable `json:"env"` // assigned before it
	Redirects      []Redirect `json:"redirects"`
	Via            []string   `json:"via"`     // wrappers it was found behind: env, timeout, xargs, bash …
	Depth          int        `json:"depth"`   // shells within shells around it, 0 to 4
	Wrapper        bool       `json:"wrapper"` // only starts the next command, unchanged
	InSubstitution bool       `json:"in_substitution"`
	Cwd            Folder     `json:"cwd"`
	Git            *Git       `json:"git"` // nil for other programs
}

// Features are constructs worth knowing, each false unless seen.
type Features struct {
	CmdSubst       bool `json:"cmdsubst"`
	ProcSubst      bool `json:"procsubst"`
	Param          bool `json:"param"`
	Arith          bool `json:"arith"`
	Glob           bool `json:"glob"`
	Function       bool `json:"function"`
	Alias          bool `json:"alias"`
	Background     bool `json:"background"`
	ControlFlow    bool `json:"control_flow"`
	Heredoc        bool `json:"heredoc"`
	HeredocExpand  bool `json:"heredoc_expand"` // one whose text the shell expands
	Assign         bool `json:"assign"`
	DynamicName    bool `json:"dynamic_name"`
	ControlChars   bool `json:"control_chars"`
	InvisibleChars bool `json:"invisible_chars"`
	MixedScript    bool `json:"mixed_script"` // letters of several alphabets in one word
	Eval           bool `json:"eval"`
	Source         bool `json:"source"`
	Inline         bool `json:"inline"` // code handed to an interpreter
	Chdir          bool `json:"chdir"`  // the working folder changes underway
	TooLong        bool `json:"too_long"`
	TooDeep        bool `json:"too_deep"`
	Metadata       bool `json:"metadata"` // names the cloud metadata address, see [NamesMetadata]
}

// Shell is what is known about one shell text. The zero value knows nothing
// and is not OK.
type Shell struct {
	OK       bool      `json:"ok"`     // every command was found and named
	Reason   string    `json:"reason"` // why not OK
	Commands []Command `json:"commands"`
	Features Features  `json:"features"`

	assigned []Word // values given to variables
}

// Analyse reads a shell text as bash would. It never fails: a text that is not
// understood is not OK, with whatever was found, for the deny rules.
func Analyse(text string) Shell {
	a := &analysis{}
	a.parse(text, nil, 0, false)
	if len(a.Commands) > maxShellCommands {
		a.doubt(fmt.Sprintf("more than %d commands", maxShellCommands))
	}
	// a longer text is not analysed at all, so it never runs unasked
	a.Features.Metadata = NamesMetadata(text[:min(len(text), MaxShellBytes)])
	for _, c := range a.Commands {
		a.Features.Metadata = a.Features.Metadata || NamesMetadata(c.Text)
	}
	a.OK = a.Reason == ""
	if a.Commands == nil {
		a.Commands = []Command{}
	}
	return a.Shell
}

// analysis gathers the facts of one text and the shells nested in it.
type analysis struct{ Shell }

// doubt makes the text not OK; the first reason stays.
func (a *analysis) doubt(reason string) {
	if a.Reason == "" {
		a.Reason = reason
	}
}

// parse analyses one text. via and sub describe where it was found.
func (a *analysis) parse(text string, via []string, depth int, sub bool) {
	defer func() {
		if p := recover(); p != nil {
			a.doubt("the shell parser stopped on this text")
		}
	}()
	if !a.admissible(text, depth) {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		a.doubt(fmt.Sprintf("no shell syntax: %.120s", err))
		return
	}
	(&walker{analysis: a, via: via, depth: depth, sub: sub}).stmts(file)
}

// admissible checks what must hold before the parser sees the text.
func (a *analysis) admissible(text string, depth int) bool {
	if strings.ContainsFunc(text, odd) {
		a.Features.ControlChars = true
		a.doubt("control or invisible characters")
	}
	switch {
	case len(text) > MaxShellBytes:
		a.Features.TooLong = true
		a.doubt(fmt.Sprintf("longer than %d bytes", MaxShellBytes))
	case depth > maxShellDepth || openers(text) > maxShellOpeners:
		a.Features.TooDeep = true
		a.doubt("nested too deeply")
	case strings.ContainsRune(text, 0):
	default:
		return true
	}
	return false
}

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
	return n
}

// odd reports characters that make a text read otherwise than it runs.
func odd(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
		return true
	}
	return r > 0x7f && (unicode.IsSpace(r) || unicode.Is(unicode.Variation_Selector, r))
}
