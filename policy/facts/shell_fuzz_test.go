package facts

import (
	"slices"
	"strings"
	"testing"
)

func FuzzShell(f *testing.F) {
	for _, seed := range []string{"ls", "a $(b) `c` <(d)", "bash -c 'eval x'", "env A=1 xargs rm", "f(){ :;}", "cat <<X\nX", "a >&2 2>/dev/null", "git -c a=b push",
		"cd src && cat x; (cd ..; y) | z", "timeout -k 5 9 env -C src nice x", "find . -exec x {} \\; -execdir y +", "sed -i 's/a/b/' x", "a {b,c}/*.go ~/x \"$d\"", "xargs -I% x %", "git -C src log -- ':!x' HEAD:y",
		"for x in a; do cd $x; done", "a &>x <<<'y' {z}>w", "\u0441at \u200b x", "tar xCf a b", "sh -ec -- 'x' y", "x=${y:=z} w", "[ -f x ]"} {
		f.Add(seed)
	}
	for _, row := range changesOfFolder {
		f.Add(row.text)
	}
	r := Resolver{Cwd: "/w", Roots: []string{"/w"}, Home: "/h"}
	f.Fuzz(func(t *testing.T, text string) {
		s, paths := r.Shell(text)
		if s.OK != (s.Reason == "") {
			t.Fatalf("ok %v with reason %q", s.OK, s.Reason)
		}
		if len(s.Commands) > maxCommandsKept || s.OK && len(s.Commands) > maxShellCommands {
			t.Fatalf("%d commands, ok %v", len(s.Commands), s.OK)
		}
		if odd := s.Features.ControlChars || s.Features.InvisibleChars || s.Features.TooDeep || s.Features.TooLong; odd && s.OK {
			t.Fatalf("ok with %+v", s.Features)
		}
		for i := range s.Commands {
			checkCommand(t, &s.Commands[i], s.OK)
		}
		for _, p := range paths {
			checkPath(t, r, p)
		}
	})
}

// checkCommand holds for every command of every text.
func checkCommand(t *testing.T, c *Command, ok bool) {
	t.Helper()
	switch {
	case ok && c.Name.Basename == "" && len(c.Redirects) == 0:
		t.Fatalf("a command without a name is ok: %+v", c)
	case c.Depth > maxShellDepth || len(c.Via) > 2*maxShellDepth+1:
		t.Fatalf("depth %d behind %q", c.Depth, c.Via)
	case c.Cwd.Known != (c.Cwd.Value != ""):
		t.Fatalf("folder %+v", c.Cwd)
	case (c.Git != nil) != (c.Name.Basename == "git"):
		t.Fatalf("git facts of %q: %+v", c.Name.Basename, c.Git)
	case c.Args == nil || c.Env == nil || c.Redirects == nil || c.Via == nil:
		t.Fatalf("a list is nil: %+v", c)
	case c.Wrapper && len(c.Env) > 0 && c.Name.Basename == "env":
		t.Fatalf("env with assignments is plain: %+v", c)
	}
	static := c.Name.Static
	for _, a := range c.Args {
		static = static && a.Static
		checkWord(t, a)
	}
	if static != c.Static {
		t.Fatalf("static %v, its words say %v: %+v", c.Static, static, c)
	}
}

// checkWord holds for every argument: a static word, quoted anew, is the same
// word, and nothing uncertain is told to be inside.
func checkWord(t *testing.T, a Word) {
	t.Helper()
	if a.Flag != strings.HasPrefix(a.Value, "-") {
		t.Fatalf("flag %v of %q", a.Flag, a.Value)
	}
	if p := a.Path; p != nil && p.Inside && (!p.Resolved || a.unknown) {
		t.Fatalf("inside, but %+v of %+v", p, a)
	}
	if !a.Static || strings.ContainsRune(a.Value, 0) {
		return
	}
	again := Analyse("x '" + strings.ReplaceAll(a.Value, "'", `'\''`) + "'")
	if len(again.Commands) != 1 {
		return // longer, once quoted, than what is parsed
	}
	if words := again.Commands[0].Args; len(words) != 1 || words[0].Value != a.Value || !words[0].Static {
		t.Fatalf("%q is static, but quoted it is %+v", a.Value, words)
	}
}

// FuzzFolders holds that no text makes a relative path of an unknown folder inside.
func FuzzFolders(f *testing.F) {
	for _, row := range changesOfFolder {
		f.Add(row.text)
	}
	root := tree(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := resolver(root).Shell(text)
		for _, c := range s.Commands {
			for _, a := range c.Args {
				relative := a.Path != nil && a.Path.Raw == a.Value && !strings.HasPrefix(a.Value, "/") && !a.Tilde
				if relative && !c.Cwd.Known && a.Path.Inside && !slices.Contains(movedWords(c), a.Value) {
					t.Fatalf("%q: %+v is inside of an unknown folder", text, a)
				}
			}
		}
	})
}

// movedWords are the values of options that change the folder themselves.
func movedWords(c Command) []string {
	if c.moved > 0 {
		return []string{c.Args[c.moved].Value}
	}
	return nil
}
