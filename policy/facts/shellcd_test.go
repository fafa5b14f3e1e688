package facts

import (
	"path/filepath"
	"strings"
	"testing"
)

// folders returns the folders of the commands called pwd: their path below
// root, "?" where it is not known.
func foldersOf(root string, s Shell) string {
	var all []string
	for _, c := range s.Commands {
		if c.Name.Basename != "pwd" {
			continue
		}
		at := "?"
		if c.Cwd.Known {
			rel, err := filepath.Rel(root, c.Cwd.Value)
			if err != nil {
				rel = err.Error()
			}
			at = filepath.ToSlash(rel)
		} else if c.Cwd.Value != "" {
			at = "unknown, but " + c.Cwd.Value
		}
		all = append(all, at)
	}
	return strings.Join(all, " ")
}

// changesOfFolder are texts with the folder of each pwd in them. The tree has
// the folder src, the links in -> src and out -> ../outside/deep, the link
// loop to itself and nothing called absent; bash agrees with every known one.
var changesOfFolder = []struct{ text, want string }{
	{"pwd", "."},
	{"cd src && pwd", "src"},
	{"cd src; pwd", "src"},
	{"cd src\npwd", "src"},
	{"cd ./src && pwd", "src"},
	{"cd 'src' && pwd", "src"},
	{"cd s\\rc && pwd", "src"},
	{"cd -- src && pwd", "src"},
	{"cd -L src && pwd", "src"},
	{"cd -P src && pwd", "?"},
	{"cd src/ && pwd", "src"},
	{"cd . && pwd", "."},
	{"cd src && cd .. && pwd", "."},
	{"cd src && pwd && cd .. && pwd", "src ."},
	{"cd src; cd ..; pwd", "."},
	{"cd src && true; pwd", "src"},
	{"cd src && false; pwd", "src"},
	{"true && cd src && pwd", "src"},
	{"true && cd src; pwd", "?"},
	{"true && cd src && true; pwd", "?"},
	{"cd .. && pwd", ".."},
	{"cd ../outside && pwd", "../outside"},
	{"cd / && cd tmp && pwd", "/tmp"},
	// what may not have happened
	{"cd absent; pwd", "?"},
	{"cd absent && pwd", "absent"},
	{"cd absent && pwd; pwd", "absent ?"},
	{"mkdir absent && cd absent && pwd", "absent"},
	{"cd absent && cd src; pwd", "?"},
	{"cd absent && cd /; pwd", "?"},
	{"cd src && cd absent; pwd", "?"},
	{"cd src/a.go; pwd", "?"},
	{"cd loop; pwd", "?"},
	{"cd loop && pwd", "?"},
	// links
	{"cd in && pwd", "src"},
	{"cd in; pwd", "src"},
	{"cd out && pwd", "../outside/deep"},
	{"cd in && cd .. && pwd", "?"},
	{"cd out && cd ..; pwd", "?"},
	{"cd out/.. && pwd", "?"},
	{"cd src/.. && pwd", "?"},
	{"cd in && cd . && pwd", "src"},
	// forms that are not followed
	{"cd - && pwd", "?"},
	{"cd src && cd - && pwd", "?"},
	{"cd $X && pwd", "?"},
	{"cd \"$X\"; pwd", "?"},
	{"cd s* && pwd", "?"},
	{"cd {src,in} && pwd", "?"},
	{"cd $(echo src) && pwd", "?"},
	{"cd '' && pwd", "?"},
	{"cd src in && pwd", "?"},
	{"cd +1 && pwd", "?"},
	{"cd ~nobody && pwd", "?"},
	{"pushd src && pwd", "?"},
	{"pushd src; popd; pwd", "?"},
	{"builtin cd src && pwd", "?"},
	{"command cd src; pwd", "?"},
	{"env cd src; pwd", "?"},
	{"c$X src; pwd", "?"},
	{"$X src; pwd", "?"},
	{"CDPATH=/ cd src && pwd", "?"},
	{"CDPATH=/; cd src && pwd", "?"},
	{"export CDPATH=/tmp; cd src && pwd", "?"},
	{"read CDPATH; cd src && pwd", "?"},
	{"HOME=/; cd; pwd", "?"},
	{"cd src > log && pwd", "?"},
	{"source x; pwd", "?"},
	{"eval 'cd src'; pwd", "?"},
	{"alias x=y; pwd", "?"},
	// where a change does not last, or may not
	{"(cd src && pwd); pwd", "src ."},
	{"(cd src; pwd; (cd ..; pwd); pwd); pwd", "src . src ."},
	{"(cd absent); pwd", "."},
	{"{ cd src; pwd; }; pwd", "src src"},
	{"{ cd src; pwd; } > log; pwd", "src ?"},
	{"cd src | pwd", "."},
	{"cd src | pwd; pwd", ". ?"},
	{"true | cd src; pwd", "?"},
	{"cd src & pwd", "?"},
	{"cd src && pwd & pwd", "src ?"},
	{"cd src || pwd", "?"},
	{"cd src || exit 1; pwd", "?"},
	{"pwd || cd src; pwd", ". ?"},
	{"cd src && pwd || pwd", "src ?"},
	{"! cd src; pwd", "?"},
	{"if cd src; then pwd; fi; pwd", "? ?"},
	{"if true; then (cd src; pwd); fi; pwd", "src ."},
	{"for x in 1 2; do pwd; cd src; done; pwd", "? ?"},
	{"while pwd; do cd ..; done", "?"},
	{"for x in 1 2; do pwd; done", "."},
	{"case x in y) cd src;; esac; pwd", "?"},
	{"time cd src; pwd", "?"},
	{"f() { pwd; }; cd src; f", "?"},
	{"f() { cd src; }; f; pwd", "?"},
	{"echo $(cd src && pwd); pwd", "src ?"},
	{"echo $(pwd); pwd", ". ."},
	{"x=$(cd src && pwd); pwd", "src ?"},
	{"cat <(cd src; pwd); pwd", "src ?"},
	{"pwd > >(cd src; pwd)", ". src"},
	{"cd src && echo $(pwd)", "src"},
	{"trap 'cd src' EXIT; pwd", "?"},
	// behind wrappers
	{"bash -c 'cd src && pwd'; pwd", "src ."},
	{"cd src && sh -c pwd", "src"},
	{"env -C src pwd; pwd", "src ."},
	{"env --chdir=src pwd", "src"},
	{"env --chdir src pwd", "src"},
	{"env -Csrc pwd", "src"},
	{"env -C src sh -c 'cd .. && pwd'", "."},
	{"env -C $X pwd", "?"},
	{"cd src && env -C .. pwd", "."},
	{"timeout 5 env -C src nice pwd", "src"},
	{"chroot . pwd", "?"},
	{"unshare -w src pwd", "?"},
	{"sudo -D src pwd", "?"},
	{"sudo -i pwd", "?"},
	{"sudo pwd", "."},
	{"find src -exec pwd \\;", "."},
	{"find src -execdir pwd \\;", "?"},
	{"cd src; find . -execdir pwd + -exec pwd {} \\;", "? src"},
	{"ssh host pwd", "?"},
	{"xargs pwd", "."},
}

func TestChangesOfFolder(t *testing.T) {
	root := tree(t)
	for _, row := range changesOfFolder {
		s, _ := resolver(root).Shell(row.text)
		want := row.want
		if at, ok := strings.CutPrefix(want, "/"); ok {
			rel, err := filepath.Rel(root, string(filepath.Separator)+at)
			if err != nil {
				t.Fatal(err)
			}
			want = filepath.ToSlash(rel)
		}
		if got := foldersOf(root, s); got != want {
			t.Errorf("%q: pwd in %q, want %q (%s)", row.text, got, want, s.Reason)
		}
	}
}

func TestHomeIsAFolder(t *testing.T) {
	root := tree(t)
	r := resolver(root)
	for text, want := range map[string]string{"cd && pwd": "../home", "cd; pwd": "../home", "cd ~ && pwd": "../home", "cd ~/.ssh && pwd": "../home/.ssh", "cd '~' && pwd": "~"} {
		s, _ := r.Shell(text)
		if got := foldersOf(root, s); got != want {
			t.Errorf("%q: pwd in %q, want %q", text, got, want)
		}
	}
	r.Home = ""
	s, _ := r.Shell("cd && pwd")
	if got := foldersOf(root, s); got != "?" {
		t.Errorf("without a home folder cd leads to %q", got)
	}
}

// A search path for cd may lead anywhere, unless the target says where it is.
func TestCDPathOfTheServer(t *testing.T) {
	t.Setenv("CDPATH", "/tmp")
	root := tree(t)
	for text, want := range map[string]string{"cd src && pwd": "?", "cd ./src && pwd": "src", "cd .. && pwd": "..", "env -C src pwd": "?"} {
		s, _ := resolver(root).Shell(text)
		if got := foldersOf(root, s); got != want {
			t.Errorf("%q: pwd in %q, want %q", text, got, want)
		}
	}
}

// Paths count from the folder of their command, redirections from the shell's.
func TestPathsCountFromTheFolder(t *testing.T) {
	root := tree(t)
	for _, row := range []struct {
		text, raw, abs string // abs below root; empty = not resolved
		isRoot         bool
	}{
		{"cd src && cat a.go", "a.go", "src/a.go", false},
		{"cd src && cat ../x", "../x", "x", false},
		{"cd src && rm -rf .", ".", "src", true},
		{"cd src && rm -rf ..", "..", ".", true},
		{"cd src && rm -rf ../../root", "../../root", ".", true},
		{"cd out && cat c.txt", "c.txt", "../outside/deep/c.txt", false},
		{"cd out && cat ../x", "../x", "../outside/x", false},
		{"cd absent; cat a.go", "a.go", "", false},
		{"cd src && cat a > b", "b", "src/b", false},
		{"git -C src log > b", "b", "b", false},
		{"git -C src log -- a.go", "a.go", "src/a.go", false},
		{"git -C src -C .. log -- a.go", "a.go", "", false},
		{"git log -C src", "src", "src", false},
		{"make -C src -f x.mk", "x.mk", "src/x.mk", false},
		{"make --directory=src x", "x", "", false},
		{"make -sC src x", "x", "", false},
		{"tar xf a.tar -C src b", "b", "", false},
		{"tar -xCf src a.tar", "a.tar", "", false},
		{"npm --prefix src run x", "run", "src/run", false},
		{"env -C src cat a.go > b", "b", "b", false},
		{"env -C src cat a.go", "a.go", "src/a.go", false},
		{"cd src && ./x.sh y", "y", "src/y", false},
	} {
		_, paths := resolver(root).Shell(row.text)
		found := false
		for _, p := range paths {
			if p.Raw != row.raw {
				continue
			}
			found = true
			want := ""
			if row.abs != "" {
				want = filepath.Join(root, row.abs)
			}
			if p.Abs != want || p.Resolved != (want != "") || p.IsRoot != row.isRoot {
				t.Errorf("%q: %+v, want %q", row.text, p, want)
			}
		}
		if !found {
			t.Errorf("%q: no path %q in %+v", row.text, row.raw, paths)
		}
	}
}
