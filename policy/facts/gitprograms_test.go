package facts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Options, keys and subcommands that name a program, and what is not known.
func TestGitProgramOptions(t *testing.T) {
	for args, want := range map[string]string{ // p names a program, k is known
		"status": "k", "log --ext-diff": "k", "diff --textconv": "k", "commit -S -m x": "k", "rebase -i main": "k", "add -p": "k", "": "", "--version": "k", "$x": "", "xyz": "", "lfs pull": "", "svn fetch": "", "send-email x": "",
		"clone u": "k", "clone --template=x u": "pk", "clone --t x u": "pk", "clone -c a=b u": "pk", "clone --c a=b u": "pk", "clone -qu x y": "pk", "clone --u x y": "pk", "clone --upl=x y": "pk", "clone --depth 1 u": "k", "clone -b x u": "k", "init --te=x": "pk", "init": "k",
		"fetch --upload-pack=x": "pk", "fetch --upl x": "pk", "fetch --all": "k", "push --receive-pack x": "pk", "push --rece x": "pk", "push --exec=x": "pk", "push --ex=x": "pk", "push --force": "k", "push origin x": "k", "ls-remote --up=x": "pk", "ls-remote --exec x": "pk", "archive --remote=u --ex x": "pk", "pull --upl=x": "pk", "fetch-pack --exec=x u": "pk",
		"grep -O x": "pk", "grep -nOless x": "pk", "grep --op x": "pk", "grep --or x": "k", "grep -n x": "k", "rebase -x y main": "pk", "rebase -ix y": "pk", "rebase --ex y": "pk", "rebase --exec=y": "pk", "rebase main": "k", "bisect run x": "pk", "bisect start": "k", "submodule foreach x": "pk", "submodule update": "k",
		"difftool -x y": "p", "difftool --extc=y": "p", "difftool": "", "filter-branch --tree-filter x": "p", "filter-branch --tree x": "p", "filter-branch": "", "merge -s x y": "pk", "merge --strategy=x y": "pk", "merge --strat x y": "pk", "merge -s ours y": "k", "merge -X ours y": "k", "merge --squash y": "k", "pull -s evil": "pk", "rebase -sevil main": "pk", "cherry-pick -s x": "k", "cherry-pick --strategy=x y": "pk", "commit -s": "k",
		"fetch ext::sh": "pk", "clone ext::x": "pk", "remote add o ext::x": "pk", "remote set-url o a::b": "pk", "clone ssh://[::1]/x": "k", "log HEAD::x": "k",
		"credential fill": "p", "credential-store get": "p", "credential-cache exit": "p", "maintenance start": "p", "remote-ext a b": "p", "remote-https a b": "p", "remote -v": "k", "submodule--helper update": "p", "hook run x": "p", "for-each-repo --config=x y": "p", "imap-send": "p", "merge-index x -a": "p", "daemon": "p", "shell": "p",
		"-c color.ui=never log": "k", "-c core.pager=x log": "pk", "-c alias.x=!y x": "p", "-c user.name=x commit": "k", "-c commit.gpgsign=false commit": "k", "-c commit.gpgsign=true commit": "pk", "-c core.fsmonitor=false status": "k", "-c core.fsmonitor=x status": "pk", "-c core.hooksPath=/dev/null commit": "pk", "-c diff.external=x diff": "pk", "-c some.key=x log": "pk",
		"-c advice.detachedHead=false checkout x": "k", "-c $x log": "pk", "--config-env=core.pager=X log": "pk", "--config-env user.name=X log": "k", "--exec-path=x status": "pk", "-C src status": "k", "--no-pager log": "k", "-c init.defaultBranch=main init": "k", "log -- --exec": "k", "push -- --exec=x": "k",
	} {
		s := Analyse("git " + args)
		got := ""
		if g := s.Commands[0].Git; g != nil {
			got = strings.Repeat("p", count(g.ProgramOption)) + strings.Repeat("k", count(g.Known))
			if g.ProgramOption && !g.RunsProgram {
				t.Errorf("git %s: names a program, but runs none", args)
			}
		}
		if got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
}

func count(set bool) int {
	if set {
		return 1
	}
	return 0
}

func TestGitRefspecs(t *testing.T) {
	for args, want := range map[string]string{
		"push": "", "push origin": "origin", "push origin main": "origin main", "push -f origin +main": "origin +main", "push -o ci.skip origin": "origin", "push -oci.skip origin x": "origin x", "push -fo x origin": "origin", "push --push-option x origin a": "origin a", "push --push-option=x origin a": "origin a", "push --pus x origin a": "origin a",
		"push --repo x a": "a", "push --repo=x a": "a", "push --receive-pack y origin": "origin", "push --force-with-lease origin a": "origin a", "push --force-with-lease=main origin a": "origin a", "push origin -- :a": "origin :a", "push -- -x": "-x", "push --tags origin": "origin", "push --recurse-submodules check origin a": "origin a", "fetch origin": "",
	} {
		if got := strings.Join(Analyse("git " + args).Commands[0].Git.Refspecs, " "); got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
}

// Only what stands before the first word that is no option makes git config read.
func TestGitConfigReads(t *testing.T) {
	for args, reads := range map[string]bool{
		"--get a.b": true, "--get-all a.b": true, "--list": true, "-l": true, "--global --list": true, "--show-origin -l": true, "a.b": true, "--type=bool a.b": true, "--type bool a.b": true, "-f x a.b": true, "--file=x --get a.b": true, "get a.b": true, "list": true, "get --all a.b": true, "--global user.name": true,
		"a.b --get": false, "a.b --list": false, "a.b -l": false, "a.b c": false, "a.b c --get": false, "alias.x get": false, "--add a.b c": false, "--get a.b --add": true, "--unset a.b": false, "-e": false, "--edit": false, "set a.b c": false, "set": false, "unset a.b": false, "edit": false, "--bogus a.b": false, "$x": false, "--replace-all a.b c": false, "": false, "--rename-section a b": false, "--ed": false, "--uns a.b": false, "a.b $x": false,
	} {
		if got := !Analyse("git config " + args).Commands[0].Git.Writes; got != reads {
			t.Errorf("git config %s: reads %v", args, got)
		}
	}
}

// What writing commands name is written.
func TestGitWrittenPaths(t *testing.T) {
	root := checkout(t)
	for args, want := range map[string]string{ // raw of the paths written, ! when protected, ^ when outside, ? when not resolved
		"init": "", "init ../x": "../x^", "init -b main new": "new", "init --separate-git-dir ../y new": "new ../y^", "clone u": "", "clone u ../x": "../x^", "clone -b main u": "", "clone --depth 1 u new": "new", "clone u .claude/hooks": ".claude/hooks!", "clone --separate-git-dir=../g u new": "new ../g^", "clone u \"$x\"": "(computed)?",
		"worktree add ../x": "../x^", "worktree add -b y ../x main": "../x^ main", "worktree list": "", "worktree remove ../x": "../x^", "bundle create ../x HEAD": "../x^", "bundle verify ../x": "", "fast-export --export-marks=../x HEAD": "../x^", "fast-import --export-marks ../x": "../x^", "pack-objects ../x": "../x^", "submodule add u .git/hooks": ".git/hooks!",
		"config -f ../x a.b c": "../x^", "config --file=../x a.b c": "../x^", "config --file .git/config a.b c": ".git/config!", "config --global a.b c": "~/.gitconfig!", "config --glo a.b c": "~/.gitconfig!", "config --system a.b c": "/etc/gitconfig!", "config a.b c": "", "config --global a.b": "", "config -f ../x a.b": "",
		"interpret-trailers --in-place ../x": "../x^", "interpret-trailers ../x": "", "archive -o ../x HEAD": "../x^", "archive --output=../x HEAD": "../x^", "archive --outp ../x HEAD": "../x^", "format-patch -o ../x -1": "../x^", "format-patch --output-directory=../x -1": "../x^", "checkout-index --prefix=../x/ -a": "../x/^", "read-tree --index-output=../x HEAD": "../x^",
		"-C ../outside commit -m x": "../outside^", "-C ../outside status": "", "--git-dir=../outside add a": "../outside^", "--git-dir ../outside add a": "../outside^", "--work-tree=../outside checkout -f": "../outside^", "-C src add a.go": "src", "mailsplit -o../x a": "a ../x^",
	} {
		_, paths := resolver(root).Shell("git " + args)
		var all []string
		for _, p := range paths {
			mark := p.Raw
			if i := strings.IndexByte(mark, '='); i > 0 && strings.HasPrefix(mark, "-") {
				mark = mark[i+1:]
			}
			switch {
			case p.Mode != Write:
				continue
			case p.Protected:
				mark += "!"
			case !p.Resolved:
				mark += "?"
			case !p.Inside:
				mark += "^"
			}
			if !slices.Contains(all, mark) {
				all = append(all, mark)
			}
		}
		wanted := strings.Fields(want)
		slices.Sort(all)
		slices.Sort(wanted)
		if !slices.Equal(all, wanted) {
			t.Errorf("git %s: %q, want %q", args, all, wanted)
		}
	}
	s, _ := resolver(root).Shell("git worktree add ../x")
	if c := s.Commands[0]; c.Args[2].Path == nil || c.Args[2].Path.Mode != Write || len(c.Git.Paths) != 1 || c.Git.Paths[0].Real != filepath.Join(filepath.Dir(root), "x") {
		t.Errorf("%+v", c)
	}
}
