package facts

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHardlink(t *testing.T) {
	root := tree(t)
	home := filepath.Join(filepath.Dir(root), "home")
	for _, name := range []string{"plain.txt", "guard/deep.rego", ".env.local", ".mcp.json"} {
		write(t, filepath.Join(root, name))
	}
	for name, to := range map[string]string{"a": home + "/.ssh/id_rsa", "b": root + "/guard/deep.rego", "c": root + "/.env.local", "d": root + "/.mcp.json", "e": root + "/plain.txt"} {
		link(t, os.Link, to, filepath.Join(root, "src", name))
	}
	for _, row := range []struct {
		path            string
		mode            Mode
		hardlink        bool
		protected, look string
		nlink           int
	}{
		{"src/a", Read, true, "private_key", "", 2},
		{"src/a", Write, true, "private_key", "", 2},
		{"src/b", Read, true, "", "", 2},
		{"src/b", Write, true, "gatehouse", "", 2},
		{"src/c", Read, true, "env_file", "", 2},
		{"src/d", Read, true, "", "", 2},
		{"src/d", Write, true, "mcp_servers", "", 2},
		{"src/e", Read, false, "", "", 2},
		{"src/e", Write, false, "", hardLink, 2},
		{".env.local", Read, false, "env_file", "", 2}, // its own name
		{"src/a.go", Write, false, "", "", 1},
		{"src", Write, false, "", "", -1}, // folders have names of their own kind
		{"src/none", Write, false, "", "", 0},
	} {
		p := resolver(root).Resolve(row.path, row.mode)
		if p.Hardlink != row.hardlink || p.ProtectedBy != row.protected || p.SensitiveBy != row.look || row.nlink >= 0 && p.Nlink != row.nlink {
			t.Errorf("%s %s: %+v", row.mode, row.path, p)
		}
	}
}

// Another session's link is seen at the next call.
func TestNothingOutlivesACall(t *testing.T) {
	root := tree(t)
	places := NewPlaces("", nil)
	look := func() Path { return NewResolver(places, root, []string{root}).Resolve("src/a.go", Read) }
	if p := look(); !p.Inside {
		t.Fatalf("before: %+v", p)
	}
	if err := os.Rename(filepath.Join(root, "src"), filepath.Join(root, "was")); err != nil {
		t.Fatal(err)
	}
	link(t, os.Symlink, "../outside/deep", filepath.Join(root, "src"))
	if p := look(); p.Inside || !p.Symlink {
		t.Errorf("after: %+v", p)
	}
}

// What is asked as a whole and what is asked segment by segment must agree.
func TestProbeAgrees(t *testing.T) {
	root := tree(t)
	for _, rel := range []string{"src/a.go", "src", "src/none", "none/none", "out", "out/c.txt", "in/a.go", "loop", "gone", "key", "src/a.go/x"} {
		path := filepath.Join(root, rel)
		n, told := probe(path)
		slow := Resolver{memory: &memory{}}.follow(path)
		switch told {
		case probedThere:
			if slow.err != nil || !slow.exists || slow.links > 0 || slow.real != path || slow.node != n {
				t.Errorf("%s: probed %+v, followed %+v", rel, n, slow)
			}
		case probedMissing:
			if slow.err != nil || slow.exists || slow.links > 0 || slow.real != path {
				t.Errorf("%s: probed as missing, followed %+v", rel, slow)
			}
		}
	}
}

func TestIsRoot(t *testing.T) {
	root := tree(t)
	for raw, want := range map[string]bool{
		".": true, "..": true, "/": true, "~": true, "../home": true, "../home/..": true, "src/..": true, "guard": true,
		"src": false, "../outside": false, "../root2": false, "out": false, "guard/x": false,
	} {
		if got := resolver(root).Resolve(raw, Write).IsRoot; got != want {
			t.Errorf("%q: is_root %v, want %v", raw, got, want)
		}
	}
	link(t, os.Symlink, "..", filepath.Join(root, "src", "back"))
	if !resolver(root).Resolve("src/back", Write).IsRoot {
		t.Error("a link to the root is not told to be one")
	}
}

func TestWithin(t *testing.T) {
	for _, row := range []struct {
		root, path string
		want       bool
	}{
		{"/w", "/w", true}, {"/w", "/w/x", true}, {"/w", "/wx", false}, {"/w", "/w/../x", false}, {"/w/", "/w/x", true}, {"/", "/x", true}, {"/", "/", true},
		{"/w/x", "/w", false}, {"", "/w", false}, {"/w", "", false}, {"w", "w/x", false}, {"/w", "w", false}, {"/W", "/w", false},
	} {
		if got := Within(filepath.FromSlash(row.root), filepath.FromSlash(row.path)); got != row.want && filepath.Separator == '/' {
			t.Errorf("%q holds %q: %v, want %v", row.root, row.path, got, row.want)
		}
	}
}

// Every row of the tables is found by the index that replaces the walk over them.
func TestIndexFindsEveryRow(t *testing.T) {
	for at := range rows.rows {
		row := &rows.rows[at]
		var segs []string
		if !row.anchored {
			segs = append(segs, "some", "where")
		}
		for _, w := range row.want {
			segs = append(segs, replaceStars(w))
		}
		if row.below {
			segs = append(segs, "below", "it.txt")
		}
		v := rows.lookup(segs)
		if got := [...]string{v.secret, v.guard, v.doubt, v.doubtWrite}[row.kind]; got == "" {
			t.Errorf("row %q: %q is not found", row.pattern, segs)
		}
		if row.anchored {
			v := rows.lookup(append([]string{"chroot"}, segs...))
			if got := [...]string{v.secret, v.guard, v.doubt, v.doubtWrite}[row.kind]; got == row.name {
				t.Errorf("row %q holds below a folder", row.pattern)
			}
		}
	}
}

func replaceStars(w string) string {
	out := []byte{}
	for i := range len(w) {
		if w[i] == '*' {
			out = append(out, "zz"...)
			continue
		}
		out = append(out, w[i])
	}
	return string(out)
}
