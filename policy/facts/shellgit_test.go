package facts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitEffects spells what a git command does: w writes, n network, r runs a program.
func gitEffects(g *Git) string {
	if g == nil {
		return "no git"
	}
	effects := ""
	for _, e := range []struct {
		set  bool
		name string
	}{{g.Writes, "w"}, {g.Network, "n"}, {g.RunsProgram, "r"}} {
		if e.set {
			effects += e.name
		}
	}
	return effects
}

var gitCommands = map[string]string{
	// reading
	"status": "", "status -sb": "", "log --oneline -5": "", "log -p": "", "diff": "", "diff --stat HEAD~1": "", "show HEAD:a": "", "ls-files -o": "", "rev-parse HEAD": "", "blame a": "",
	"shortlog -sn": "", "describe --tags": "", "cat-file -p HEAD": "", "branch": "", "branch -a": "", "branch --list 'x*'": "", "branch --show-current": "", "branch -vv": "", "branch --contains HEAD": "",
	"branch --sort=-committerdate": "", "remote": "", "remote -v": "", "remote get-url origin": "", "config --get user.name": "", "config --list": "", "config user.name": "", "config get a.b": "", "config -l": "",
	"stash list": "", "stash show": "", "tag": "", "tag -l 'v*'": "", "tag -n3": "", "tag --sort=x": "", "reflog": "", "reflog show": "", "worktree list": "", "notes list": "", "notes": "", "submodule": "", "submodule status": "",
	"bisect log": "", "grep x": "", "rev-list HEAD": "", "merge-base a b": "", "ls-tree HEAD": "", "for-each-ref": "", "symbolic-ref HEAD": "", "hash-object a": "", "archive HEAD": "", "fsck": "", "--version": "", "version": "", "format-patch --stdout -1": "",
	"count-objects -v": "", "bundle verify x": "", "sparse-checkout list": "", "check-ignore a": "", "var GIT_EDITOR": "", "replace -l": "",
	// writing
	"add a": "w", "commit -m x": "w", "checkout a": "w", "switch a": "w", "restore a": "w", "reset --hard": "w", "rm a": "w", "mv a b": "w", "merge x": "w", "rebase main": "w", "cherry-pick x": "w", "revert x": "w", "clean -fd": "w",
	"stash": "w", "stash pop": "w", "tag v1": "w", "tag -d v1": "w", "branch new": "w", "branch -D x": "w", "branch -m a b": "w", "branch --format=x new": "w", "config a.b c": "w", "config --unset a.b": "w", "config set a.b c": "w", "config --add a b": "w", "init": "w",
	"gc": "w", "apply x": "w", "am x": "w", "worktree add x": "w", "notes add -m x": "w", "reflog expire": "w", "reflog delete x": "w", "update-ref a b": "w", "symbolic-ref HEAD x": "w", "hash-object -w a": "w", "archive -o x HEAD": "w", "fsck --lost-found": "w", "format-patch -1": "w",
	"remote add o u": "w", "remote remove o": "w", "bisect start": "w", "diff --output=x": "w", "log --outp=x": "w", "show --output x": "w", "bundle create x HEAD": "w",
	// talking to others
	"fetch": "wn", "pull": "wn", "push": "wn", "push origin x": "wn", "clone u": "wn", "ls-remote": "n", "remote update": "wn", "remote show o": "wn", "remote prune o": "wn", "remote add -f o u": "wn", "archive --remote=u HEAD": "n", "fetch-pack u": "wn",
	// starting programs
	"diff --ext-diff": "r", "diff --ext": "r", "log --textconv": "r", "show --textc": "r", "grep -O x": "r", "grep -Oless x": "r", "grep --open-files-in-pager x": "r", "cat-file --filters HEAD:a": "r",
	"fetch --upload-pack=x": "wnr", "clone -u x y": "wnr", "clone -c a=b y": "wnr", "clone --config a=b y": "wnr", "clone --template=x y": "wnr", "push --receive-pack x": "wnr", "push --exec=x": "wnr", "ls-remote --upload-pack=x": "nr", "archive --remote=u --exec=x": "nr",
	"fetch ext::sh": "wnr", "clone ext::x": "wnr", "remote add o ext::x": "wr", "rebase -x y main": "wr", "rebase -i": "wr", "rebase --exec y": "wr", "bisect run x": "wr", "bisect view": "wr", "filter-branch x": "wr", "merge -s x y": "wr", "merge --strategy=x y": "wr", "init --template=x": "wr",
	"submodule foreach x": "wnr", "submodule update": "wnr", "config --edit": "wr", "config -e": "wr", "commit -S -m x": "wr", "tag -s x": "wr", "branch --edit-description": "wr",
	"difftool": "wnr", "mergetool": "wnr", "lfs pull": "wnr", "xyz": "wnr", "instaweb": "wnr", "help": "wnr", "send-email": "wnr", "svn fetch": "wnr", "": "wnr", "maintenance start": "wnr", "credential fill": "wnr", "STATUS": "wnr",
	// options before the subcommand
	"--no-pager log": "", "-C . status": "", "-P log": "", "-c color.ui=never log": "", "-c core.pager=x log": "r", "-c alias.x=!y x": "wnr", "--config-env=core.pager=X log": "r", "--config-env core.pager=X log": "r", "-p log": "r", "--paginate log": "r", "--git-dir=x log": "r", "--git-dir x log": "r",
	"--work-tree=x status": "r", "--exec-path=x status": "r", "--bare log": "r", "--namespace=x log": "r", "--unknown log": "r", "--literal-pathspecs log": "",
	// what is only known at run time
	"$x": "wnr", "log $x": "wr", "log \"$x\"": "wr", "log -- $x": "", "-C $x log": "r", "$x log": "wnr", "log *": "wr", "log a*": "", "-c $x log": "r", "show $x:a": "wr", "log a$x": "wr",
}

func TestGitEffects(t *testing.T) {
	for args, want := range gitCommands {
		s := Analyse("git " + args)
		if len(s.Commands) != 1 {
			t.Errorf("git %s: %+v", args, s)
			continue
		}
		if got := gitEffects(s.Commands[0].Git); got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
}

// What the repository itself may start, where the command runs in it.
func TestGitRepositories(t *testing.T) {
	root := checkout(t)
	for _, row := range []struct{ text, want string }{
		{"git status", ""},
		{"git commit -m x", "w"},
		{"cd src && git status", ""},
		{"cd sub && git status", "r"}, // core.pager
		{"cd sub; git status", "r"},
		{"git -C sub status", "r"},
		{"git -C src status", ""},
		{"env -C sub git status", "r"},
		{"bash -c 'cd sub && git status'", "r"},
		{"timeout 5 git status", ""},
		{"cd hooked && git status", ""},
		{"cd hooked && git commit -m x", "wr"},
		{"git -C hooked push", "wnr"},
		{"cd indexed && git status", "r"},
		{"cd bare && git log", "r"},
		{"cd .. && git status", ""},
		{"cd $X && git status", "r"},
		{"git -C \"$X\" status", "r"},
		{"git -C src -C .. status", "r"},
		{"cd gone; git status", "r"},
		{"GIT_PAGER=x git log", "r"},
		{"PAGER=x git log", "r"},
		{"export GIT_PAGER=x; git log", "r"},
		{"env GIT_PAGER=x git log", "r"},
		{"env -i git log", "r"},
		{"A=b git log", ""},
		{"nice git log", ""},
		{"xargs git log", "wr"},
		{"find . -exec git log {} \\;", "wr"},
		{"xargs -I% git log %", "wr"},
		{"xargs -I% git log -- %", ""},
	} {
		s, _ := resolver(root).Shell(row.text)
		i := slices.IndexFunc(s.Commands, func(c Command) bool { return c.Git != nil })
		if i < 0 {
			t.Errorf("%q: no git in %+v", row.text, s.Commands)
			continue
		}
		if got := gitEffects(s.Commands[i].Git); got != row.want {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
	}
}

func TestGitPaths(t *testing.T) {
	root := checkout(t)
	for _, row := range []struct{ text, want string }{ // raw=real below root:mode, ? when not resolved, ! when protected
		{"git log -- src/a.go", "src/a.go=src/a.go:read"},
		{"git log src/a.go", "src/a.go=src/a.go:read"},
		{"git log main", ""},
		{"git log -- main", "main=main:read"},
		{"git -C src log -- a.go", "a.go=src/a.go:read"},
		{"cd src && git log a.go", "a.go=src/a.go:read"},
		{"git show HEAD:src/a.go", "HEAD:src/a.go=src/a.go:read"},
		{"cd src && git show HEAD:src/a.go", "HEAD:src/a.go=src/a.go:read"},
		{"cd src && git show HEAD:./a.go", "HEAD:./a.go=src/a.go:read"},
		{"git show HEAD:.env", "HEAD:.env=.env:read!"},
		{"git show :.env", ":.env=.env:read!"},
		{"git show :0:.env", ":0:.env=.env:read!"},
		{"git log -- .env", ".env=.env:read!"},
		{"git log -- :/src", ":/src=?:read"},
		{"git log -- ':(top)src'", ":(top)src=?:read"},
		{"git log -- ':!.env'", ":!.env=?:read!"},
		{"git log -- 'src/*.go'", "src/*.go=?:read"},
		{"git log -- $X", "(computed)=?:read"},
		{"git log -- ../outside/deep/c.txt", "../outside/deep/c.txt=../outside/deep/c.txt:read"},
		{"git log -- out/c.txt", "out/c.txt=../outside/deep/c.txt:read"},
		{"git checkout HEAD -- src/a.go", "src/a.go=src/a.go:write"},
		{"git checkout HEAD -- .mcp.json", ".mcp.json=.mcp.json:write!"},
		{"git restore src/a.go", "src/a.go=src/a.go:write"},
		{"git rm -r src", "src=src:write"},
		{"git add src/a.go", "src/a.go=src/a.go:read"},
		{"git checkout main", ""},
		{"git -C \"$X\" log -- a.go", "a.go=?:read"},
		{"git log --stat", ""},
	} {
		s, _ := resolver(root).Shell(row.text)
		var all []string
		for _, c := range s.Commands {
			if c.Git == nil {
				continue
			}
			for _, p := range c.Git.Paths {
				at := "?"
				if p.Resolved {
					at, _ = filepath.Rel(root, p.Real)
				}
				mark := p.Raw + "=" + filepath.ToSlash(at) + ":" + string(p.Mode)
				if p.Protected {
					mark += "!"
				}
				if p.Arg == "" {
					mark += " without a pointer"
				}
				all = append(all, mark)
			}
		}
		if got := strings.Join(all, " "); got != row.want {
			t.Errorf("%q: %s, want %s", row.text, got, row.want)
		}
	}
}

// A protected file that only git finds is in the list of all paths as well,
// and what git would write over is written.
func TestGitPathsInTheList(t *testing.T) {
	root := checkout(t)
	for text, mode := range map[string]Mode{
		"git show HEAD:.env": Read, "git log -- ':!.env'": Read, "git checkout HEAD -- .mcp.json": Write, "git restore .claude/settings.json": Write, "git checkout evil .mcp.json": Write,
		"git mv a .git/hooks/pre-commit": Write, "git stash push .mcp.json": Write,
	} {
		_, paths := resolver(root).Shell(text)
		if !slices.ContainsFunc(paths, func(p Path) bool { return p.Protected && p.Mode == mode }) {
			t.Errorf("%q: nothing protected in %+v", text, paths)
		}
	}
}
