package facts

import (
	"context"
	"flag"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	bashTexts = flag.Int("bash-texts", 200, "texts that TestAgreesWithBash runs")
	bashSeed  = flag.Int64("bash-seed", 1, "what it makes them from")
)

// What bash reads otherwise than the parser is never ok.
var readDifferently = []string{
	"a $\\\n(b)", "a $\\\n'b'", "a <\\\n(b)", "a >\\\n>b", "a &\\\n&b", "a |\\\n|b", "a'\\\n'", "a\\\nb", "a \\\nb\\\nc", "\\\na", "a \\", "a\n\\\nb", "a \\\\\nb",
	"a # b \\\nc", "a #\\\nc", "a 'x # y' \\\nz", "# a \\\nb\nc", "a\r\nb", "a \rb",
	"a <&-x", "a <& -x", "a >&-x", "a >&1-1", "a >&2024-01-01", "a >&--1", "a >&-1", "a >&x", "a 2>&\"1\"", "a >&$x", "a 2>&1x", "a >&\n1", "a >&1\\x",
	"bash -c 'a >&-x'", "bash -c 'a $\\\n(b)'", "bash <<'E'\na >&-x\nE",
	"a <<'E'x\nb\nEx", "a <<E\"F\"\nb\nEF", "a <<$x\nb\n$x", "a <<''\nb\n\nc", "a <<\"E F\"\nb\nE F", "a <<{\nb\n{",
	"a 99999999999>x", "a {fd}>x", "coproc a", "coproc x { a; }", "[[ a =~ b ]]", "[[ a =~ (b|c) ]]", "a `b \\`c\\``", "a `b \\\\`", "a $[1+1]",
	",]a=-[``", "./x]a=b c", "./x]a=b", "a | time -p b", "a | ! b", "time -- a", "time", "time -o x a", "a <<E\nx \\\nE\nb\nE", "a <<E\n\t\\\nE\nb\nE",
	"sh -c '[[ a || b ]]'", "sh -c '((a || b))'", "dash -c 'a &>b'", "sh -c 'a <<<b'", "zsh -c 'function a { b; }'", "ksh -c 'a |& b'", "sh -c $'a'", "sh -c 'time a'",
}

func TestReadDifferently(t *testing.T) {
	for _, text := range readDifferently {
		if s := Analyse(text); s.OK {
			t.Errorf("%q is ok: %+v", text, s.Commands)
		}
	}
	for _, text := range []string{"a \\\n  b", "a \\\n -b \\\n -c", "a 2>&1", "a 2>&1 | b", "(a 2>&1)", "a >&-", "a 2>&-; b", "a >& x", "a >& 1", "a 1>&2-", "bash -c \"a 2>&1\"", "a # b", "a#b\nc",
		"a <<E\nx\nE", "a <<'E'\n$x\nE\nb", "a <<-\"E\"\n\tx\n\tE", "git commit -m \"$(cat <<'EOF'\nx y\n\nz\nEOF\n)\"", "sh -c 'a && b'", "bash -c '[[ a ]] && b'", "a `b`", "[[ a == b ]]", "a {}>x"} {
		if s := Analyse(text); !s.OK {
			t.Errorf("%q: %s", text, s.Reason)
		}
	}
}

// pieces are what texts for bash are made of: what makes a word, a comment, a
// redirection or a nested shell end where nobody looks.
var pieces = strings.Split("a|b|x| | |\\\n|\\\n| \\\n|$|$|'|'|\"|\"|;|&|&&|||1|2|12|-|=|{|}|[|]|!|<<<|<<|<<-|>&|<&|>&1|2>&1|>&-|<&-|>|>>|>|&>|<>|`|`|~|+|#| #|\\x41|_|a=|a+=|\\|\\\\|\\$|\\`|\\\"|\\'|"+
	"<<E\n|<<E|E\n|<<\\E\n|<<'E'\n|<<\"E\"\n|<<-E\n\t|\n|\nE\n|\n\tE\n|\nE|\"$|' '|,|..|:|?|*|(|)|((|))|$((|$(|$(|${|${x|${x:-|${x#|${x%|@(|!(|time |time -p |! |{ |; }|( | )|{a,b}|{1..3}|[[ | ]]| =~ | == |if |; then |; fi|else |case x in |;;|;&|esac|"+
	"x) |for x in |; do |; done|select |function |coproc |a() |let |declare |a=(|a[1]=|a[x]|{fd}>||&|$'|$\"|$[|\t|%|^|/|e\u0301|\u00e9|\u0001|\u00a0|\r", "|")

// made makes one text.
func made(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString([]string{"a ", "a", "a x ", "a\n", "b;a ", "(a ", "{ a ", "a $(b ", "a \"$(b ", "a `b ", "a <<E\nx", "a <<'E'\nx", "((a", "bash -c 'a "}[r.Intn(14)])
	for n := 1 + r.Intn(9); n > 0; n-- {
		p := pieces[r.Intn(len(pieces))]
		if p == "" { // the separator was cut away
			p = "|"
		}
		b.WriteString(p)
	}
	b.WriteString([]string{"", "", "\nb x", " b", ";b 1", "\nb", "\nE\nb 1", ")\nb 1", "\")\nb", "; }", "`", "))", "'"}[r.Intn(13)])
	return b.String()
}

// recorder are functions for bash that write what is started to a file.
const recorder = `r() { printf '%s\0' "$@" $'\1' >>"$GH_LOG"; }
for n in a b x; do eval "$n() { r $n \"\$@\"; }"; done
command_not_found_handle() { r "$@"; }
unset n
export -f r a b x command_not_found_handle
`

// foretold reports whether a text's facts say all that bash will do, so that
// they can be compared: what is expanded is compared by name alone.
func foretold(s Shell) bool {
	f := s.Features
	return s.OK && !f.Background && !f.ProcSubst && !f.Function && !f.ControlChars
}

// TestAgreesWithBash makes texts, and where the facts are sure of one, has bash
// run it: no program may start, and no file appear, that the facts do not name.
func TestAgreesWithBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to compare with")
	}
	if version, _ := exec.Command(bash, "-c", "echo $BASH_VERSINFO").Output(); runtime.GOOS == "windows" || strings.TrimSpace(string(version)) < "5" {
		t.Skipf("bash %s is older than what the facts speak of", version)
	}
	top := t.TempDir()
	rc := filepath.Join(top, "rc")
	if err := os.WriteFile(rc, []byte(recorder), 0o600); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(*bashSeed))
	seen := map[string]bool{}
	for n := 0; n < *bashTexts; {
		text := made(r)
		s := Analyse(text)
		if seen[text] || !foretold(s) {
			continue
		}
		seen[text] = true
		n++
		started, files := runBash(t, bash, top, rc, text)
		for _, argv := range started {
			if !slices.ContainsFunc(s.Commands, func(c Command) bool { return startsAs(c, argv) }) {
				t.Errorf("%q: bash starts %q, the facts say %q", text, argv, commandTexts(s))
			}
		}
		for _, file := range files {
			if !slices.ContainsFunc(s.Commands, func(c Command) bool { return writesTo(c, file) }) {
				t.Errorf("%q: bash writes %q, the facts say %q", text, file, commandTexts(s))
			}
		}
	}
}

// runBash runs a text in an empty folder and returns what it started and wrote.
func runBash(t *testing.T, bash, top, rc, text string) (started [][]string, files []string) {
	t.Helper()
	dir, log := filepath.Join(top, "cwd"), filepath.Join(top, "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	defer os.Remove(log)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", text)
	cmd.Dir, cmd.Env = dir, []string{"BASH_ENV=" + rc, "GH_LOG=" + log, "HOME=" + dir, "PATH=" + top + "/none", "LANG=C.UTF-8"}
	_ = cmd.Run() // most texts fail somewhere
	raw, _ := os.ReadFile(log)
	for _, one := range strings.Split(string(raw), "\x01\x00") {
		if one != "" {
			started = append(started, strings.Split(strings.TrimSuffix(one, "\x00"), "\x00"))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
	}
	return started, files
}

// startsAs reports whether c is the command that argv shows.
func startsAs(c Command, argv []string) bool {
	if !c.Static {
		return c.Name.Value == argv[0]
	}
	words := []string{c.Name.Value}
	for _, a := range c.Args {
		if a.Tilde {
			return c.Name.Value == argv[0]
		}
		words = append(words, a.Value)
	}
	return slices.Equal(words, argv)
}

func writesTo(c Command, file string) bool {
	return slices.ContainsFunc(c.Redirects, func(r Redirect) bool {
		return r.Writes && (!r.Static || r.tilde || filepath.Base(r.Target) == file)
	})
}

func commandTexts(s Shell) []string {
	var all []string
	for _, c := range s.Commands {
		all = append(all, c.Text)
	}
	return all
}
