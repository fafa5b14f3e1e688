package facts

import (
	"slices"
	"strings"
)

// writing is how a program that otherwise reads is told to write a file.
type writing struct {
	long  []string // full names; abbreviations count too
	short string   // letters
	exact []string // words that take the file as the next word, as find spells them
}

var writeOptions = map[string]writing{
	"git":     {long: []string{"--output", "--output-directory"}, short: "o"}, // -o of archive and format-patch only
	"find":    {exact: []string{"-fprint", "-fprint0", "-fprintf", "-fls"}},
	"tree":    {short: "o"},
	"less":    {long: []string{"--log-file", "--LOG-FILE"}, short: "oO"},
	"curl":    {long: []string{"--output", "--output-dir", "--dump-header", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--etag-save", "--hsts", "--alt-svc", "--libcurl"}, short: "oDc"},
	"wget":    {long: []string{"--output-document", "--output-file", "--append-output", "--directory-prefix", "--save-cookies"}, short: "OoaP"},
	"cp":      {long: []string{"--target-directory"}, short: "t"},
	"mv":      {long: []string{"--target-directory"}, short: "t"},
	"install": {long: []string{"--target-directory"}, short: "t"},
	"ln":      {long: []string{"--target-directory"}, short: "t"},
	"sort":    {long: []string{"--output"}, short: "o"},
	"shuf":    {long: []string{"--output"}, short: "o"},
	"iconv":   {long: []string{"--output"}, short: "o"},
	"time":    {long: []string{"--output"}, short: "o"},
	"strace":  {long: []string{"--output"}, short: "o"},
	"ltrace":  {long: []string{"--output"}, short: "o"},
	"unzip":   {short: "d"},
	"gcc":     {short: "o"},
	"cc":      {short: "o"},
	"clang":   {short: "o"},
}

// devices may be written without a file being changed.
var devices = setOf("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty")

// written returns the file that the option word v writes. next means that the
// file is the following word; ok is false for words that write nothing.
func (o writing) written(v string) (file string, next, ok bool) {
	if slices.Contains(o.exact, v) {
		return "", true, true
	}
	if strings.HasPrefix(v, "--") {
		name, value, attached := strings.Cut(v, "=")
		known := len(name) > 2 && slices.ContainsFunc(o.long, func(l string) bool { return strings.HasPrefix(l, name) })
		return value, known && !attached, known
	}
	if !strings.HasPrefix(v, "-") || o.short == "" {
		return "", false, false
	}
	if i := strings.IndexAny(v, o.short); i > 0 {
		return v[i+1:], i+1 == len(v), true
	}
	return "", false, false
}

// output resolves the file an option names for writing; found is false when
// the argument is neither such an option nor its value.
func (l *looker) output(c *Command, at int) (p Path, found bool) {
	o, known := writeOptions[c.Name.Basename]
	if !known {
		return Path{}, false
	}
	if c.Git != nil && c.Git.Subcommand != "archive" && c.Git.Subcommand != "format-patch" {
		o.short = ""
	}
	a := &c.Args[at]
	file := a.Value
	if before := at > 0 && o.takesNext(c.Args[at-1].Value); !before {
		value, next, ok := o.written(a.Value)
		if !ok || next {
			return Path{}, false
		}
		file = value
	}
	switch {
	case devices[file]:
		return Path{}, true
	case file == "" && a.Static:
		return Path{}, false
	case file == "":
		return Path{Raw: computed, Mode: Write}, true
	}
	p = l.look(file, a.Tilde, Write)
	if !a.Static && !p.Protected {
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	return p, true
}

func (o writing) takesNext(v string) bool {
	_, next, ok := o.written(v)
	return ok && next
}
