package facts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spell writes a word with its marks: s static, f flag, g glob, t tilde, b braces.
func spell(w Word) string {
	marks := ""
	for _, m := range []struct {
		set  bool
		mark string
	}{{w.Static, "s"}, {w.Flag, "f"}, {w.Glob, "g"}, {w.Tilde, "t"}, {w.Brace, "b"}} {
		if m.set {
			marks += m.mark
		}
	}
	return w.Value + "|" + marks
}

func TestWordMarks(t *testing.T) {
	for text, want := range map[string]string{
		`a`: "a|s", `-a`: "-a|sf", `'-a'`: "-a|sf", `"a b"`: "a b|s", `a\ b`: "a b|s", `''`: "|s",
		`*`: "*|g", `a?`: "a?|g", `[ab]`: "[ab]|g", `'*'`: "*|s", `\*`: "*|s", `"a*"b*`: "a*b*|g",
		`~`: "~|st", `~/x`: "~/x|st", `~u/x`: "~u/x|st", `'~/x'`: "~/x|s", `\~/x`: "~/x|s", `a~`: "a~|s", `x=~/y`: "x=~/y|", `~"/x"`: "~/x|t", `~$x`: "~|t",
		`{a,b}`: "{a,b}|b", `a{1..3}`: "a{1..3}|b", `'{a,b}'`: "{a,b}|s", `{}`: "{}|b",
		`$x`: "|", `"$x"`: "|", `a$x`: "a|", `-$x`: "-|f", `"a${x}b"`: "ab|", `$(b)`: "|", "`b`": "|", `$((1))`: "|", `<(b)`: "|",
		`$'a'`: "a|", `$"a"`: "a|", `=a`: "=a|", `a=b`: "a=b|s", `a^`: "a^|", `@(a)`: "|g", `a"b"'c'd`: "abcd|s", `\-a`: "-a|sf",
		"a\\\nb": "ab|s",
	} {
		s := Analyse("x " + text)
		if len(s.Commands) == 0 || len(s.Commands[0].Args) != 1 {
			t.Errorf("%s: %+v", text, s)
			continue
		}
		if got := spell(s.Commands[0].Args[0]); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	root := tree(t)
	for _, row := range []struct{ text, value, base, path string }{ // path below root, "-" for none, "?" when not resolved
		{"ls", "ls", "ls", "-"},
		{"LS", "LS", "ls", "-"},
		{"Git.EXE x", "Git.EXE", "git", "-"},
		{"./x.sh", "./x.sh", "x.sh", "x.sh"},
		{"src/run y", "src/run", "run", "src/run"},
		{"out/run", "out/run", "run", "../outside/deep/run"},
		{"/bin/sh -c x", "/bin/sh", "sh", "/bin/sh"},
		{"~/bin/x", "~/bin/x", "", "../home/bin/x"},
		{"~/.ssh/x", "~/.ssh/x", "", "../home/.ssh/x"},
		{"cd src && ./x", "./x", "x", "src/x"},
		{"cd $X && ./x", "./x", "x", "?"},
		{"$X/ls", "/ls", "", "?"},
		{"'a b'", "a b", "a b", "-"},
	} {
		s, paths := resolver(root).Shell(row.text)
		c := s.Commands[len(s.Commands)-1]
		for _, candidate := range s.Commands {
			if candidate.Name.Value == row.value {
				c = candidate
			}
		}
		at := "-"
		if p := c.Name.Path; p != nil && !p.Resolved {
			at = "?"
		} else if p != nil {
			at = p.Real
			if !strings.HasPrefix(row.path, "/") {
				at, _ = filepath.Rel(root, p.Real)
			} else if real, err := filepath.EvalSymlinks(row.path); err == nil && real == at {
				at = row.path
			}
			if p.Mode != Read || p.Arg == "" {
				t.Errorf("%q: %+v", row.text, p)
			}
		}
		if c.Name.Value != row.value || c.Name.Basename != row.base || filepath.ToSlash(at) != row.path {
			t.Errorf("%q: %+v at %q, want %+v", row.text, c.Name, at, row)
		}
		listed := slices.ContainsFunc(paths, func(p Path) bool { return strings.HasSuffix(p.Arg, "/name") })
		if protected := c.Name.Path != nil && c.Name.Path.Protected; listed != protected {
			t.Errorf("%q: listed %v, protected %v", row.text, listed, protected)
		}
	}
}

func TestRedirections(t *testing.T) {
	for text, want := range map[string]string{ // op fd target static writes heredoc
		"a > x":                  "> -1 x true true -",
		"a 2> x":                 "> 2 x true true -",
		"a 10>> x":               ">> 10 x true true -",
		"a < x":                  "< -1 x true false -",
		"a <> x":                 "<> -1 x true true -",
		"a >| x":                 ">| -1 x true true -",
		"a &> x":                 "&> -1 x true true -",
		"a &>> x":                "&>> -1 x true true -",
		"a 2>&1":                 ">& 2 1 true false -",
		"a >&-":                  ">& -1 - true false -",
		"a >& x":                 ">& -1 x true true -",
		"a > $x":                 "> -1  false true -",
		"a > \"x y\"":            "> -1 x y true true -",
		"a >&$x":                 ">& -1  false true -",
		"a <<X\nhi\nX":           "<< -1  true false plain 3",
		"a <<'X'\nhi $y\nX":      "<< -1  true false quoted 6",
		"a <<\\X\nhi $y\nX":      "<< -1  true false quoted 6",
		"a 3<<\"X\"\nhi\nX":      "<< 3  true false quoted 3",
		"a <<X\nhi $y\nX":        "<< -1  false false plain 6",
		"a <<-X\n\thi\n\tX":      "<<- -1  true false plain 4",
		"a <<< 'b c'":            "<<< -1  true false -",
		"a <<< $b":               "<<< -1  false false -",
		"{ a; } > x":             "> -1 x true true -",
		"> x":                    "> -1 x true true -",
		"while a; do b; done <x": "< -1 x true false -",
	} {
		s := Analyse(text)
		var all []string
		for _, c := range s.Commands {
			for _, r := range c.Redirects {
				doc := "-"
				if r.Heredoc != nil {
					doc = fmt.Sprintf("%s %d", map[bool]string{true: "quoted", false: "plain"}[r.Heredoc.Quoted], r.Heredoc.Bytes)
				}
				all = append(all, fmt.Sprintf("%s %d %s %v %v %s", r.Op, r.FD, r.Target, r.Static, r.Writes, doc))
			}
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, s.Reason)
		}
	}
}

// features names what is set.
func features(f Features) string {
	var all []string
	for _, row := range []struct {
		name string
		set  bool
	}{
		{"alias", f.Alias}, {"arith", f.Arith}, {"assign", f.Assign}, {"background", f.Background}, {"chdir", f.Chdir}, {"cmdsubst", f.CmdSubst}, {"control", f.ControlChars},
		{"flow", f.ControlFlow}, {"dynamic", f.DynamicName}, {"eval", f.Eval}, {"function", f.Function}, {"glob", f.Glob}, {"heredoc", f.Heredoc}, {"expands", f.HeredocExpand},
		{"inline", f.Inline}, {"invisible", f.InvisibleChars}, {"metadata", f.Metadata}, {"mixed", f.MixedScript}, {"param", f.Param}, {"procsubst", f.ProcSubst},
		{"source", f.Source}, {"deep", f.TooDeep}, {"long", f.TooLong},
	} {
		if row.set {
			all = append(all, row.name)
		}
	}
	return strings.Join(all, " ")
}

func TestFeatures(t *testing.T) {
	for _, row := range []struct {
		text, want string
		ok         bool
	}{
		{"a b | c && d", "", true},
		{"a $(b)", "cmdsubst", true},
		{"a `b`", "cmdsubst", true},
		{"a <(b)", "procsubst", true},
		{"a $b", "param", true},
		{"a $((1))", "arith", true},
		{"((1))", "arith", true},
		{"a *", "glob", true},
		{"a '*'", "", true},
		{"a() { b; }", "function", false},
		{"a &", "background", true},
		{"coproc a", "background", false},
		{"if a; then b; fi", "flow", true},
		{"[[ a == b ]]", "flow", true},
		{"for x in a; do b; done", "assign flow", true},
		{"a <<X\nb\nX", "heredoc", true},
		{"a <<X\n$b\nX", "heredoc expands param", true},
		{"a <<'X'\n$b\nX", "heredoc", true},
		{"a <<X\n$(b)\nX", "cmdsubst heredoc expands", true},
		{"a <<X\nb\\$\nX", "heredoc expands", true},
		{"a <<< $(b)", "cmdsubst", true},
		{"a=b c", "assign", true},
		{"a=b", "assign", true},
		{"export a=b", "assign", true},
		{"${x:=y} z", "assign dynamic param", false},
		{"$a", "dynamic param", false},
		{"eval a", "eval", false},
		{"source a", "source", false},
		{"sh -c a", "inline", true},
		{"python3 -c a", "inline", false},
		{"cd a", "chdir", true},
		{"alias a=b", "alias", false},
		{"a \x01b", "control", false},
		{"a \x7f", "control", false},
		{"a \xff", "control", false},
		{"a \u0085", "control", false},
		{"a\u200bb", "invisible", false},
		{"a \u202eb", "invisible", false},
		{"a\u00a0b", "invisible", false},
		{"a \ufeffb", "invisible", false},
		{"a \u3164", "invisible", false},
		{"a \u00ad", "invisible", false},
		{"a\u2003b", "invisible", false},
		{"a \u0441at", "mixed", true},
		{"\u0441at x", "mixed", true},
		{"a \"\u0440\"wd", "mixed", true},
		{"a \u0441\u0430\u0442", "", true},
		{"a 'fix \u03b1 and \u03b2'", "", true},
		{"a \u03b1-b", "", true},
		{"a caf\u00e9", "", true},
		{"a \uff52m", "mixed", true},
		{"a \U0001d5cbm", "mixed", true},
		{"a \u65e5\u672cabc", "", true},
		{"curl 169.254.169.254", "metadata", true},
		{"curl 0xa9fea9fe", "metadata", true},
		{"curl 2852039166", "metadata", true},
		{"curl 169.254.43518", "metadata", true},
		{"curl 1\"69.254.169.2\"54", "metadata", true},
		{"curl [::ffff:a9fe:a9fe]", "metadata glob", true},
		{"curl 1.2.3.4 123456789", "", true},
		{strings.Repeat("(", 600), "deep", false},
		{strings.Repeat("if a; then ", 600), "deep", false},
		{"a " + strings.Repeat("b", MaxShellBytes), "long", false},
	} {
		s := Analyse(row.text)
		want := strings.Fields(row.want)
		got := strings.Fields(features(s.Features))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || s.OK != row.ok {
			t.Errorf("%.60q: %q ok %v (%s), want %q ok %v", row.text, features(s.Features), s.OK, s.Reason, row.want, row.ok)
		}
	}
}

func TestSteeringVariables(t *testing.T) {
	for text, ok := range map[string]bool{
		"A=b ls": true, "NODE_ENV=test ls": true, "for x in a; do ls; done": true, "read x": true, "export A=b": true, "unset A": true, "printf -v x y": true, "let a=1": true, ": ${a:=b}": true, "wait $p": true, "[ $PATH = x ]": true, "printf PATH": true,
		"PATH=x ls": false, "PATH=x": false, "export PATH=x": false, "for PATH in /tmp; do ls; done": false, "select PATH in a; do ls; done": false, "read PATH": false, "read -r a PATH": false, "printf -v PATH x": false, "printf -vPATH x": false,
		"unset PATH": false, "mapfile PATH": false, "declare -n r=PATH": false, ": ${PATH:=x}": false, ": ${PATH=x}": false, "((PATH=1))": false, "let PATH=1": false, ": $((PATH++))": false, "local IFS=x": false,
		"a {PATH}>x": false, "coproc PATH { a; }": false, "read \"$x\"": false, "declare \"$x\"": false, "GIT_SSH_COMMAND=x git fetch": false, "env LD_PRELOAD=x ls": false, "LD_PRELOAD=x ls": false, "PYTHONPATH=x ls": false, "npm_config_script_shell=x npm t": false,
		"PATH+=:x ls": false, "PATH[0]=x": false, "declare -x PATH": false, "readonly PATH=x": false, "getopts a PATH": false, "wait -p PATH": false,
	} {
		if s := Analyse(text); s.OK != ok {
			t.Errorf("%q: ok %v (%s)", text, s.OK, s.Reason)
		}
	}
}

func TestDepthViaAndPlace(t *testing.T) {
	for text, want := range map[string]string{ // of the command x: via depth substitution wrappers
		"x":                         " 0 false",
		"bash -c x":                 "bash 1 false",
		"bash -c 'sh -c x'":         "bash sh 2 false",
		"timeout 5 nice x":          "timeout nice 0 false",
		"bash -c 'timeout 5 x'":     "bash timeout 1 false",
		"timeout 5 bash -c x":       "timeout bash 1 false",
		"a $(x)":                    " 0 true",
		"a <(x)":                    " 0 true",
		"a $(bash -c x)":            "bash 1 true",
		"find . -exec x {} +":       "find 0 false",
		"a | xargs -0 x":            "xargs 0 false",
		"bash <<'X'\nx\nX":          "bash 1 false",
		"bash <<< x":                "bash 1 false",
		"if a; then x; fi":          " 0 false",
		"sudo env timeout 1 nice x": "sudo env timeout nice 0 false",
		"eval x":                    "eval 1 false",
	} {
		s := Analyse(text)
		got := "none"
		for _, c := range s.Commands {
			if c.Name.Basename == "x" {
				got = fmt.Sprintf("%s %d %v", strings.Join(c.Via, " "), c.Depth, c.InSubstitution)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, s.Reason)
		}
	}
}

// TestBounds holds texts beyond each bound; none is OK, and what was not
// looked at is not told to be inside.
func TestBounds(t *testing.T) {
	r := resolver(tree(t))
	for name, text := range map[string]string{
		"words":    "cat" + strings.Repeat(" a", maxLooks+1),
		"patterns": "ls" + strings.Repeat(" a*", maxPatterns+1),
		"braces":   "ls" + strings.Repeat(" {a,b}", maxPatterns+1),
		"targets":  "ls" + strings.Repeat(" >a", maxLooks+1),
	} {
		s, paths := r.Shell(text)
		if s.OK || !s.Features.TooLong || s.Reason == "" {
			t.Errorf("%s: ok %v, %+v (%s)", name, s.OK, s.Features.TooLong, s.Reason)
		}
		if len(paths) > maxLooks+1 {
			t.Errorf("%s: %d paths", name, len(paths))
		}
		for _, p := range paths[min(len(paths), maxLooks):] {
			if p.Inside || p.Resolved {
				t.Errorf("%s: %+v was not looked at", name, p)
			}
		}
	}
	if s := Analyse(strings.Repeat("cd a; ", 18) + "b"); !s.OK || len(s.Commands) != 19 {
		t.Errorf("19 commands: %v %s", s.OK, s.Reason)
	}
	if s := Analyse(strings.Repeat("a; ", 9000)[:MaxShellBytes]); s.OK || len(s.Commands) > maxCommandsKept {
		t.Errorf("%d commands, ok %v", len(s.Commands), s.OK)
	}
	if s := Analyse("a" + strings.Repeat("; sh -c 'x "+strings.Repeat("y", 700)+"'", 9)); !s.OK {
		t.Errorf("nested texts within the bound: %s", s.Reason)
	}
}

// Words with patterns tell what they meet; what the shell adds to them makes
// them unknown.
func TestPatternWords(t *testing.T) {
	root := tree(t)
	for _, row := range []struct {
		text, raw        string
		resolved, inside bool
		protected        bool
		matches          int
	}{
		{"cat src/*.go", "src/*.go", true, true, false, 1},
		{"cat src/*", "src/*", true, true, false, 1},
		{"cat *", "*", false, false, true, -1}, // the link key
		{"cat out/*", "out/*", false, false, false, -1},
		{"cat none*", "none*", true, true, false, 0},
		{"cat src/$x*", "src/*", false, false, false, -1},
		{"cat 'src/['*", "src/[*", false, false, false, -1},
		{"cat .en*", ".en*", true, true, true, 0},
		{"cat .e{n,x}v", ".e{n,x}v", true, true, true, 0},
		{"cat ~/.s*", "~/.s*", false, false, true, -1},
	} {
		_, paths := resolver(root).Shell(row.text)
		i := slices.IndexFunc(paths, func(p Path) bool { return p.Raw == row.raw })
		if i < 0 {
			t.Errorf("%q: no path %q in %+v", row.text, row.raw, paths)
			continue
		}
		p := paths[i]
		if p.Protected != row.protected || row.matches >= 0 && (p.Resolved != row.resolved || p.Inside != row.inside || p.Glob == nil || len(p.Glob.Matches) != row.matches) {
			t.Errorf("%q: %+v %+v", row.text, p, p.Glob)
		}
		if row.matches < 0 && p.Inside {
			t.Errorf("%q: inside: %+v", row.text, p)
		}
	}
}
