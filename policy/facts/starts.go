package facts

import "strings"

// starter tells which options of a program start another one.
type starter struct {
	long    []string // abbreviations count, however short
	short   string   // letters, also within a bundle
	words   []string // beginnings of words
	always  bool     // takes commands of its own from its arguments or input
	bundled bool     // the first word is a bundle of letters without a dash, as in tar xf
}

var starters = map[string]starter{
	"rg":        {long: []string{"--pre", "--hostname-bin"}},
	"tar":       {long: []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command", "--files-from"}, short: "IFT", bundled: true},
	"bsdtar":    {long: []string{"--use-compress-program", "--files-from"}, short: "T", bundled: true},
	"rsync":     {long: []string{"--rsh", "--rsync-path", "--files-from"}, short: "e"},
	"scp":       {short: "So"},
	"sftp":      {short: "Sob"},
	"zip":       {long: []string{"--unzip-command"}, words: []string{"-TT"}},
	"make":      {long: []string{"--eval"}, short: "E", words: makeWords},
	"gmake":     {long: []string{"--eval"}, short: "E", words: makeWords},
	"sort":      {long: []string{"--compress-program", "--files0-from"}},
	"wc":        {long: []string{"--files0-from"}},
	"du":        {long: []string{"--files0-from"}},
	"file":      {long: []string{"--files-from"}, short: "f"},
	"split":     {long: []string{"--filter"}},
	"less":      {words: []string{"+"}, short: "k"},
	"more":      {words: []string{"+"}},
	"man":       {long: []string{"--pager", "--html", "--preprocessor", "--troff"}, short: "PHptT"},
	"bat":       {long: []string{"--pager"}},
	"ag":        {long: []string{"--pager"}},
	"ack":       {long: []string{"--pager"}},
	"wget":      {long: []string{"--execute", "--use-askpass", "--config"}, short: "e"},
	"curl":      {long: []string{"--config"}, short: "K"},
	"tcpdump":   {short: "z"},
	"fzf":       {long: []string{"--preview", "--bind", "--execute"}},
	"cargo":     {long: []string{"--config"}},
	"go":        {long: []string{"-toolexec", "-exec", "-vettool", "--toolexec", "--exec", "--vettool"}},
	"npm":       {long: []string{"--script-shell", "--node-options", "--git", "--editor"}},
	"ctest":     {long: []string{"--build-and-test"}},
	"cmake":     {short: "EP"},
	"install":   {long: []string{"--strip-program"}},
	"cmd":       {words: []string{"/c", "/C", "/k", "/K", "//c", "//C"}},
	"logrotate": {always: true}, "ed": {always: true}, "ex": {always: true}, "vi": {always: true}, "vim": {always: true}, "nvim": {always: true}, "view": {always: true}, "vimdiff": {always: true},
	"emacs": {always: true}, "emacsclient": {always: true}, "nano": {always: true}, "pico": {always: true}, "xdg-open": {always: true}, "open": {always: true}, "start": {always: true},
	"sqlite3": {always: true}, "psql": {always: true}, "mysql": {always: true}, "dc": {always: true}, "gnuplot": {always: true}, "m4": {always: true},
}

var makeWords = []string{"SHELL=", "SHELL:", "SHELL+", "SHELL?", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES=", "MAKE="}

// starts doubts options that start another program.
func (w *walker) starts(c *Command) {
	name := c.Name.Basename
	if name == "sed" || name == "gsed" {
		w.sed(c)
		return
	}
	s, ok := starters[name]
	if !ok {
		return
	}
	hit := s.always
	for i := range c.Args {
		hit = hit || s.hit(c.Args[i].Value, i == 0)
	}
	if hit {
		w.doubt(name + " with arguments that start another program, or read names from a file")
	}
}

func (s *starter) hit(v string, first bool) bool {
	for _, word := range s.words {
		if strings.HasPrefix(v, word) {
			return true
		}
	}
	name, _, _ := strings.Cut(v, "=")
	for _, l := range s.long {
		if name == l || len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(l, name) {
			return true
		}
	}
	switch {
	case s.short == "" || strings.HasPrefix(v, "--"):
		return false
	case strings.HasPrefix(v, "-"):
		return strings.ContainsAny(v, s.short)
	}
	return s.bundled && first && strings.ContainsAny(v, s.short)
}

// movers are options by which a program changes its folder before it looks at
// its arguments.
var movers = map[string][]string{
	"git": {"-C"}, "make": {"-C", "--directory"}, "gmake": {"-C", "--directory"}, "ninja": {"-C"}, "go": {"-C"}, "pnpm": {"-C", "--dir"},
	"yarn": {"--cwd"}, "npm": {"--prefix"}, "cargo": {"-C"}, "tar": {"-C", "--directory", "--cd"}, "bsdtar": {"-C", "--cd"}, "meson": {"-C"}, "uv": {"--directory"}, "just": {"-d", "--working-directory"},
}

// moved follows the options by which c changes its own folder. One plain
// option is followed; tar takes its between the files, so there none is.
func (w *walker) moved(c *Command) {
	options := movers[c.Name.Basename]
	for i := 0; i < len(c.Args) && options != nil; i++ {
		v := c.Args[i].Value
		for _, o := range options {
			switch {
			case v == o && c.in == c.at && i+1 < len(c.Args) && !strings.HasSuffix(c.Name.Basename, "tar"):
				c.in = w.enter(c.at, c.Args[i+1])
				c.moved = i + 1
			case v == o, strings.HasPrefix(v, o) && c.Name.Basename != "git", hides(c, i, o):
				c.in = lost
			}
		}
		if c.Name.Basename == "git" && !c.Args[i].Flag && c.moved != i && c.Args[max(i-1, 0)].Value != "-c" {
			return // options of the subcommand
		}
	}
}

// hides reports a bundle of letters that may hold the option, as in tar xCf.
func hides(c *Command, i int, option string) bool {
	v := c.Args[i].Value
	if c.Name.Basename == "git" || len(option) != 2 {
		return false
	}
	bundle := len(v) > 2 && c.Args[i].Flag && v[1] != '-' || i == 0 && strings.HasSuffix(c.Name.Basename, "tar") && !c.Args[i].Flag
	return bundle && strings.Contains(v, option[1:])
}
