package facts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// minCorpus is the number of rows the corpus must not fall below.
const minCorpus = 120

// corpusRow is one row of testdata/paths.txt.
type corpusRow struct {
	line                                 int
	setup, intent, mode, path, certainty string
	protectedBy, sensitiveBy, flags      string
}

func readCorpus(t *testing.T) []corpusRow {
	t.Helper()
	text, err := os.ReadFile("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []corpusRow
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "|")
		if len(f) != 8 {
			t.Fatalf("testdata/paths.txt:%d: %d columns, want 8", i+1, len(f))
		}
		for j := range f {
			f[j] = strings.TrimSpace(f[j])
		}
		rows = append(rows, corpusRow{i + 1, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
	}
	return rows
}

// corpusTree adds to tree what the corpus speaks of; setups says which of the
// setups exist here.
func corpusTree(t *testing.T) (root string, setups map[string]bool) {
	t.Helper()
	root = tree(t)
	top := filepath.Dir(root)
	setups = map[string]bool{"plain": true, "link": true, "hard": true}
	for _, name := range []string{".env", ".claude/settings.json", ".git/config", ".git/hooks/pre-commit", "guard/policy.rego", "plain1.txt", "sealed/x", ".gitignore"} {
		write(t, filepath.Join(root, name))
	}
	write(t, filepath.Join(top, "home/notes.txt"))
	write(t, filepath.Join(top, "home/.config/gatehouse/data/y"))
	for name, to := range map[string]string{
		"alias.go": "src/a.go", "up": "..", "soon": "src/later.go", "ring1": "ring2", "ring2": "ring1", "notes.txt": ".env", "tuning.json": ".claude/settings.json",
		"homely": "../home", "twin": "../root2", "all": "/", "process": "/proc/self", "zero": "/dev/zero", "chain45": "src/a.go",
	} {
		link(t, os.Symlink, to, filepath.Join(root, name))
	}
	for i := range 45 {
		link(t, os.Symlink, fmt.Sprintf("chain%02d", i+1), filepath.Join(root, fmt.Sprintf("chain%02d", i)))
	}
	for name, to := range map[string]string{
		"copy.txt": "../home/.ssh/id_rsa", "sample.txt": ".env", "options.json": ".claude/settings.json", "hook.sh": ".git/hooks/pre-commit",
		"policy.txt": "guard/policy.rego", "twin.txt": "plain1.txt",
	} {
		link(t, os.Link, filepath.Join(root, to), filepath.Join(root, name))
	}
	if os.Geteuid() != 0 && os.Chmod(filepath.Join(root, "sealed"), 0) == nil {
		setups["unreadable"] = true
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "sealed"), 0o700) })
	}
	setups["fifo"] = makePipe(filepath.Join(root, "pipe")) == nil && listen(t, filepath.Join(root, "socket")) == nil
	return root, setups
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, make func(from, to string) error, to, name string) {
	t.Helper()
	if err := make(to, name); err != nil {
		t.Fatal(err)
	}
}

// listen leaves a socket; its name is given relative because long names of sockets fail.
func listen(t *testing.T, path string) error {
	t.Helper()
	t.Chdir(filepath.Dir(path))
	l, err := net.Listen("unix", filepath.Base(path))
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = l.Close() })
	return nil
}

func (row corpusRow) raw(t *testing.T, root string) string {
	t.Helper()
	path, top := row.path, filepath.Dir(root)
	if strings.HasPrefix(path, `"`) {
		plain, err := strconv.Unquote(path)
		if err != nil {
			t.Fatalf("testdata/paths.txt:%d: %s: %v", row.line, path, err)
		}
		path = plain
	}
	switch {
	case path == "LONGNAME":
		return "src/" + strings.Repeat("n", 300)
	case path == "LONGPATH":
		return strings.Repeat("new/", maxPath/4) + "x"
	case strings.HasPrefix(path, "ROOT"):
		return root + path[len("ROOT"):]
	case strings.HasPrefix(path, "TOP"):
		return top + path[len("TOP"):]
	case strings.HasPrefix(path, "HOME"):
		return filepath.Join(top, "home") + path[len("HOME"):]
	}
	return strings.Replace(path, "/HOMEREL", filepath.Join(top, "home"), 1)
}

func TestPathCorpus(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the corpus speaks of Linux's paths, /proc among them")
	}
	corpus := readCorpus(t)
	if len(corpus) < minCorpus {
		t.Fatalf("%d rows, want at least %d", len(corpus), minCorpus)
	}
	root, setups := corpusTree(t)
	home := filepath.Join(filepath.Dir(root), "home")
	places := NewPlaces(home, []string{filepath.Join(root, "guard"), filepath.Join(home, ".config/gatehouse")})
	for _, row := range corpus {
		if !setups[row.setup] {
			continue
		}
		raw := row.raw(t, root)
		p := NewResolver(places, root, []string{root}).Resolve(raw, Mode(row.mode))
		certainty := "unknown"
		if p.Resolved {
			certainty = map[bool]string{true: "inside", false: "outside"}[p.Inside]
		}
		got := fmt.Sprintf("%s | %s | %s | %s", certainty, p.ProtectedBy, p.SensitiveBy, strings.Join(p.Flags, " "))
		if want := fmt.Sprintf("%s | %s | %s | %s", row.certainty, row.protectedBy, row.sensitiveBy, row.flags); got != want {
			t.Errorf("testdata/paths.txt:%d: %s (%s %.60q)\n got %s\nwant %s", row.line, row.intent, row.mode, raw, got, want)
		}
		if p.Protected != (p.ProtectedBy != "") || p.Sensitive != (p.SensitiveBy != "") || p.Hardlink && row.setup != "hard" {
			t.Errorf("testdata/paths.txt:%d: %s: facts do not agree: %+v", row.line, row.intent, p)
		}
		if err := trusted(p, []string{root}); err != nil {
			t.Errorf("testdata/paths.txt:%d: %s: %v", row.line, row.intent, err)
		}
	}
}

// trusted checks what inside promises by other means than the resolver's.
func trusted(p Path, roots []string) error {
	for _, f := range p.Flags {
		if !slices.Contains(PathFlags, f) {
			return fmt.Errorf("flag %q is not listed", f)
		}
	}
	if !slices.IsSorted(p.Flags) {
		return fmt.Errorf("flags %q are not sorted", p.Flags)
	}
	if !p.Inside {
		return nil
	}
	if !p.Resolved {
		return errors.New("inside, but not resolved")
	}
	for _, path := range []string{p.Abs, p.Real} {
		if !slices.ContainsFunc(roots, func(root string) bool { return below(root, path) }) {
			return fmt.Errorf("inside, but %q is not", path)
		}
	}
	real, err := filepath.EvalSymlinks(p.Real)
	if err == nil && real != p.Real {
		return fmt.Errorf("real %q leads on to %q", p.Real, real)
	}
	if p.Glob == nil && err == nil != p.Exists && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("exists is %v, but %w", p.Exists, err)
	}
	return nil
}

func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
