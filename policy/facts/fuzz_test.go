package facts

import (
	"path/filepath"
	"strings"
	"testing"
)

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"a/../b", "~/x", "/etc/passwd", " .env ", "a//b/./c", "..", "\x00", "link/../../x", "in/../out/c.txt", "loop/x", "/proc/self/cwd/x",
		"gone/../src", "src/a.go/", "GIT~1/x", "a\u200b", "C:\\x", "src/*", "{a,b}/**/[!x]?", "~/.s*/*", "/dev/fd/0"} {
		f.Add(seed)
	}
	root := tree(f)
	places := NewPlaces(filepath.Join(filepath.Dir(root), "home"), []string{filepath.Join(root, "guard")})
	f.Fuzz(func(t *testing.T, raw string) {
		r := NewResolver(places, root, []string{root})
		read, written := r.Resolve(raw, Read), r.Resolve(raw, Write)
		if again := (resolver(root)).Resolve(raw, Read); read.Inside != again.Inside || read.Real != again.Real {
			t.Fatalf("%q: %+v with a memory, %+v without", raw, read, again)
		}
		if read.Protected && !written.Protected {
			t.Fatalf("%q: read is protected, write is not", raw)
		}
		for _, p := range append(r.Paths("Grep", map[string]any{"path": raw, "glob": raw}), read, written, r.Pattern(raw, Write)) {
			checkPath(t, r, p)
			if p.Glob != nil && len(p.Glob.Matches) > MaxMatches {
				t.Fatalf("%q: %d matches", raw, len(p.Glob.Matches))
			}
		}
	})
}

// checkPath holds for every path: what is inside lies below a root, by other
// means than the resolver's.
func checkPath(t *testing.T, r Resolver, p Path) {
	t.Helper()
	if err := trusted(p, r.Roots); err != nil {
		t.Fatalf("%v: %+v", err, p)
	}
}

func FuzzDescribeURL(f *testing.F) {
	for _, seed := range []string{"http://a", "https://u@h:1/", "http:\\\\x", "http://0x7f.1", "http://[::1]", "http://\uff11", "//x", "file:///x", "a:b@c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := DescribeURL(text)
		if danger(u.IPKind) == 0 && u.IPKind != "none" || u.Host == "" && u.Port != "" {
			t.Fatalf("%q: %+v", text, u)
		}
		if !isASCII(u.Host) || strings.ContainsAny(u.Host, "/@\\?# ") || u.Host != strings.ToLower(u.Host) {
			t.Fatalf("%q: host %q", text, u.Host)
		}
		if u.Host == "" || strings.Contains(u.Host, ":") {
			return
		}
		if again := DescribeURL("http://" + u.Host); again.Host != u.Host {
			t.Fatalf("%q: host %q, read again %+v", text, u.Host, again)
		}
	})
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
