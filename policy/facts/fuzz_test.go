package facts

import (
	"path/filepath"
	"strings"
	"testing"
)

func FuzzAnalyse(f *testing.F) {
	for _, seed := range []string{"ls", "a $(b) `c` <(d)", "bash -c 'eval x'", "env A=1 xargs rm", "f(){ :;}", "cat <<X\nX", "a >&2 2>/dev/null", "git -c a=b push"} {
		f.Add(seed)
	}
	r := Resolver{Cwd: "/w", Roots: []string{"/w"}, Home: "/h"}
	f.Fuzz(func(t *testing.T, text string) {
		s, paths := r.Shell(text)
		if s.OK != (s.Reason == "") {
			t.Fatalf("ok %v with reason %q", s.OK, s.Reason)
		}
		for _, c := range s.Commands {
			if s.OK && c.Name.Basename == "" && len(c.Redirects) == 0 {
				t.Fatalf("a command without a name is ok: %+v", c)
			}
		}
		for _, p := range paths {
			checkPath(t, r, p)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"a/../b", "~/x", "/etc/passwd", " .env ", "a//b/./c", "..", "\x00", "link/../../x"} {
		f.Add(seed)
	}
	root := tree(f)
	r := resolver(root)
	f.Fuzz(func(t *testing.T, raw string) {
		checkPath(t, r, r.Resolve(raw, Read))
		checkPath(t, r, r.Resolve(raw, Write))
		for _, p := range r.Paths("Grep", map[string]any{"path": raw, "glob": raw}) {
			checkPath(t, r, p)
		}
	})
}

// checkPath holds for every path: what is inside lies below a root.
func checkPath(t *testing.T, r Resolver, p Path) {
	t.Helper()
	if !p.Inside {
		return
	}
	if !p.Resolved || r.root(p.Abs) == "" || r.root(p.Real) == "" || p.Abs != filepath.Clean(p.Abs) {
		t.Fatalf("inside, but %+v", p)
	}
}

func FuzzMentions(f *testing.F) {
	for _, seed := range []string{"@a", "@\"a b\"#L1", "x@y.z", "@@", "@a\\ b", "@~/x,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		got := Mentions(prompt)
		if len(got) > maxMentions+1 {
			t.Fatalf("%d mentions", len(got))
		}
		for _, m := range got {
			if m == "" || len(m) > maxMention {
				t.Fatalf("mention %q", m)
			}
		}
		// A plain word after an @ is always reported.
		if !strings.ContainsAny(prompt, "@") {
			if more := Mentions(prompt + " @plain.txt"); len(more) == 0 || more[0] != "plain.txt" {
				t.Fatalf("got %q", more)
			}
		}
	})
}
