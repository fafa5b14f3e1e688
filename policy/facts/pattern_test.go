package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// patternTree has something to meet for every pattern of the tests.
func patternTree(t testing.TB) string {
	root := tree(t)
	for _, name := range []string{".env", "a.go", "b.go", "README.md", "certs/server.pem", "certs/ca.txt", "pkg/x/x.go", "pkg/y/y.go", ".claude/settings.json", "pkg/.hidden/z.go"} {
		write(t, filepath.Join(root, name))
	}
	link(t, os.Link, filepath.Join(root, ".env"), filepath.Join(root, "pkg/y/sample.txt"))
	return root
}

func TestPattern(t *testing.T) {
	root := patternTree(t)
	for _, row := range []struct {
		word                                 string
		mode                                 Mode
		inside, protected, truncated, isRoot bool
		matches                              string
	}{
		{"*.go", Read, true, false, false, false, "a.go b.go"},
		{"./*.go", Read, true, false, false, false, "a.go b.go"},
		{"src/*.go", Read, true, false, false, false, "src/a.go"},
		{"src/?.go", Read, true, false, false, false, "src/a.go"},
		{"src/[!b].go", Read, true, false, false, false, "src/a.go"},
		{"src/[b-z].go", Read, true, false, false, false, ""},
		{"pkg/*/*.go", Read, true, false, false, false, "pkg/x/x.go pkg/y/y.go"},
		{"pkg/**/*.go", Read, true, false, false, false, "pkg/x/x.go pkg/y/y.go"},
		{"pkg/*/x.go", Read, true, false, false, false, "pkg/x/x.go"},
		{"{src,pkg/x}/*.go", Read, true, false, false, false, "pkg/x/x.go src/a.go"},
		{"{a,b,z}.go", Read, true, false, false, false, "a.go b.go"},
		{"nowhere/*", Read, true, false, false, false, ""},
		{"a.go/*", Read, true, false, false, false, ""},
		{"*.GO", Read, true, false, false, false, "a.go b.go"}, // a shell may fold letters

		{"*", Write, false, true, false, true, "-"}, // the link out and the key among them
		{"pkg/*", Write, true, false, false, false, "pkg/x pkg/y"},
		{"*/c.txt", Read, false, false, true, false, ""}, // through the link out
		{"/etc/*", Read, false, true, true, false, ""},   // it may be the shadow file
		{"/usr/*", Read, false, false, true, false, ""},
		{"../*", Read, false, false, true, true, ""},
		{"src/*/../../../*", Read, false, false, true, false, ""},
		{"{/usr,src}/*", Read, false, false, true, false, "src/a.go"},
		{"~/*", Write, false, false, true, true, ""},
		{"/*", Write, false, false, true, true, ""},

		{"certs/*", Read, true, true, false, false, "certs/ca.txt certs/server.pem"},
		{"certs/*.txt", Read, true, false, false, false, "certs/ca.txt"},
		{"certs/s*", Read, true, true, false, false, "certs/server.pem"},
		{".e*", Read, true, true, false, false, ".env"},
		{".??v", Read, true, true, false, false, ".env"},
		{".[d-f]nv", Read, true, true, false, false, ".env"},
		{".[[:alpha:]]nv", Read, true, true, false, false, ".env"},
		{".{d,e}nv", Read, true, true, false, false, ".env"},
		{".{a..z}nv", Read, true, true, false, false, ".env"},
		{".claude/*.json", Read, true, false, false, false, ".claude/settings.json"},
		{".claude/*.json", Write, true, true, false, false, ".claude/settings.json"},
		{"pkg/y/*.txt", Read, true, true, false, false, "pkg/y/sample.txt"}, // another name of .env
		{"~/.s*/id*", Read, false, true, true, false, ""},
		{"~/.config/*/hosts.yml", Read, false, true, true, false, ""},
		{"~/.aws/*", Read, false, true, true, false, ""},
		{strings.Repeat("{a,b}", 10), Read, false, true, true, false, ""},
	} {
		r := NewResolver(NewPlaces(filepath.Join(filepath.Dir(root), "home"), nil), root, []string{root})
		p := r.Pattern(row.word, row.mode)
		var names []string
		for _, m := range p.Glob.Matches {
			names = append(names, strings.TrimPrefix(m, root+"/"))
		}
		if row.matches == "-" {
			names = []string{"-"}
		}
		got := fmt.Sprintf("inside %v protected %v truncated %v root %v: %s", p.Inside, p.Protected, p.Glob.Truncated, p.IsRoot, strings.Join(names, " "))
		if want := fmt.Sprintf("inside %v protected %v truncated %v root %v: %s", row.inside, row.protected, row.truncated, row.isRoot, row.matches); got != want {
			t.Errorf("%s %q\n got %s\nwant %s", row.mode, row.word, got, want)
		}
		if p.Protected != p.Glob.MatchesProtected || p.Raw != row.word || p.Glob.Pattern != row.word {
			t.Errorf("%q: facts do not agree: %+v %+v", row.word, p, p.Glob)
		}
		if err := trusted(p, []string{root}); err != nil {
			t.Errorf("%q: %v", row.word, err)
		}
	}
}

// A pattern is looked at within bounds, and what is beyond is said to be there.
func TestPatternBounds(t *testing.T) {
	root := tree(t)
	for i := range maxListing + 10 {
		write(t, filepath.Join(root, "many", fmt.Sprintf("f%04d.txt", i)))
	}
	write(t, filepath.Join(root, strings.Repeat("d/", maxDepth+3), "deep.go"))
	r := NewResolver(NewPlaces("", nil), root, []string{root})
	for word, most := range map[string]int{"many/*.txt": MaxMatches, "d/**/deep.go": 0, "many/f000*": 10} {
		p := r.Pattern(word, Read)
		if !p.Glob.Truncated || p.Inside || len(p.Glob.Matches) > most || !slices.IsSorted(p.Glob.Matches) {
			t.Errorf("%q: inside %v, %d matches, truncated %v", word, p.Inside, len(p.Glob.Matches), p.Glob.Truncated)
		}
	}
}

// The folder is opened below the root, so a link put there after the look at
// the beginning cannot lead the listing out.
func TestPatternStaysBelowRoot(t *testing.T) {
	root := patternTree(t)
	link(t, os.Symlink, filepath.Dir(root)+"/outside", filepath.Join(root, "pkg", "way"))
	r := NewResolver(NewPlaces("", nil), root, []string{root})
	for _, word := range []string{"pkg/way/*/*", "pkg/*/deep/*", "pkg/**/c.txt"} {
		p := r.Pattern(word, Read)
		for _, m := range p.Glob.Matches {
			if strings.Contains(m, "c.txt") {
				t.Errorf("%q lists %q", word, m)
			}
		}
		if word != "pkg/**/c.txt" && (p.Inside || !p.Glob.Truncated) {
			t.Errorf("%q: inside %v, truncated %v", word, p.Inside, p.Glob.Truncated)
		}
	}
}

func TestSearchPatterns(t *testing.T) {
	root := patternTree(t)
	for _, row := range []struct {
		tool              string
		input             map[string]any
		inside, protected bool
		meets             bool
		some              string // one of the matches
	}{
		{"Glob", map[string]any{"pattern": "**/*.go"}, true, false, false, "pkg/.hidden/z.go"},
		{"Glob", map[string]any{"pattern": "*"}, true, false, true, ".env"},
		{"Glob", map[string]any{"pattern": "*.md", "path": "pkg"}, true, false, false, ""},
		{"Glob", map[string]any{"pattern": "{src,pkg}/**"}, true, false, true, "src/a.go"},
		{"Glob", map[string]any{"pattern": "a\\*.go"}, false, false, false, ""},
		{"Glob", map[string]any{"pattern": "~/*"}, false, false, false, ""},
		{"Grep", map[string]any{"glob": "*.go"}, true, false, false, "pkg/x/x.go"},
		{"Grep", map[string]any{"glob": "*.go .env"}, true, true, true, "a.go"},
		{"Grep", map[string]any{"glob": "*.go,.env*"}, true, true, true, ".env"},
		{"Grep", map[string]any{"glob": "*.json"}, true, false, false, ".claude/settings.json"},
		{"Grep", map[string]any{"glob": "*env"}, true, true, true, ".env"},
		{"Grep", map[string]any{"glob": "!*.md"}, true, false, true, ".env"},
		{"Grep", map[string]any{"glob": "*.{pem,txt}"}, true, true, true, "certs/server.pem"},
		{"Grep", map[string]any{"glob": "*.go", "path": "certs"}, true, false, false, ""},
		{"Grep", map[string]any{"glob": "../*.go"}, false, false, false, ""},
		{"Grep", map[string]any{"glob": "/etc/pass*"}, false, false, false, ""},
	} {
		paths := resolver(root).Paths(row.tool, row.input)
		p := paths[len(paths)-1]
		if p.Glob == nil {
			t.Errorf("%v: no glob", row.input)
			continue
		}
		found := row.some == "" || slices.Contains(p.Glob.Matches, filepath.Join(root, row.some))
		if p.Inside != row.inside || p.Protected != row.protected || p.Glob.MatchesProtected != row.meets || !found {
			t.Errorf("%v: inside %v protected %v meets %v %v %q", row.input, p.Inside, p.Protected, p.Glob.MatchesProtected, p.Glob.Truncated, p.Glob.Matches)
		}
	}
	link(t, os.Symlink, ".env", filepath.Join(root, "src/[id].tsx"))
	p := resolver(root).Paths("Read", map[string]any{"file_path": "src/[id].tsx"})[0]
	if p.Glob == nil || !p.Protected || p.ProtectedBy != "env_file" {
		t.Errorf("a file named like a pattern: %+v", p)
	}
	if p := resolver(root).Paths("Read", map[string]any{"file_path": "src/a.go"})[0]; p.Glob != nil {
		t.Errorf("a plain path has a glob: %+v", p.Glob)
	}
}

func TestMatchSegment(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "x", true}, {"*", "", true}, {"?", "é", true}, {"?", "", false}, {"a*c", "abbc", true}, {"a*c", "abb", false}, {"*.go", "a.go.go", true},
		{"[ab]", "b", true}, {"[^ab]", "b", false}, {"[!ab]", "c", true}, {"[a-c]x", "bx", true}, {"[a-c]x", "dx", false}, {"[]]", "]", true}, {"[]a]", "a", true},
		{"[!]]", "]", false}, {"[[:digit:]]", "x", true}, {"[", "[", true}, {"[a", "[a", true}, {"[a", "a", false}, {`[\]]`, "x]", true}, {"a[-]b", "a-b", true},
		{"**", "abc", true}, {"*a*a*a*b", strings.Repeat("a", 200), false}, {"\xff", "\xff", true}, {"\xff", "\xfe", false},
	} {
		if got := matchSegment(row.pattern, row.name); got != row.want {
			t.Errorf("%q %q: %v, want %v", row.pattern, row.name, got, row.want)
		}
	}
}

func TestBraces(t *testing.T) {
	for word, want := range map[string]string{
		"a": "a", "{a,b}": "a b", "x{a,b}y": "xay xby", "{a,{b,c}}": "a b c", "{a}": "a {a}", "{1..9}": "*", "{a,b": "{a,b", "a}b": "a}b", "{,x}": " x", "}{a,b}": "}a }b",
	} {
		all, complete := plainBraces(word)
		slices.Sort(all)
		if got := strings.Join(slices.Compact(all), " "); got != want || !complete {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if _, complete := braces(strings.Repeat("{a,b}", 12)); complete {
		t.Error("4096 spellings are taken for looked at")
	}
}
