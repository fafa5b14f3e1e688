package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// runners start what their first word says that is no option: a script, or
// another program. A star in its place stands for every program there is.
var runners = strings.Fields(`ash awk bash bun bunx bpython busybox clisp cmd crystal csh dash deno ed elixir emacs erl escript esno ex expect
fish gawk gdb ghci groovy guile iex ipython java jjs jrunscript jshell julia kotlin ksh lldb lua luajit m4 mawk mksh mosh nawk nim nix-shell
node nodejs npx nvim osascript parallel perl php pipx pnpx posh powershell pwsh pypy python r racket rscript ruby runghc runhaskell sbcl scala script
screen sed sh source swipl tclsh tcsh tmux toybox ts-node tsx uvx vi vim wish xonsh yash zsh zx . eval`)

// starters begin a program behind words of their own, and what those are only
// their manual tells: a row for one says nothing about the program.
var starters = strings.Fields(`at batch bwrap chroot doas dtach entr env exec find fd flatpak firejail forever kubectl lxc nodemon nsenter pkexec pm2 proot
runas runuser sg snap sshpass strace su sudo systemd-run toybox unshare valgrind watch xargs`)

// remote are the starters whose own word is a place: behind it stands the program.
var remote = strings.Fields("autossh mosh rsh ssh telnet")

// subRunners are sub-commands that start what follows.
var subRunners = map[string][]string{
	"uv": {"run", "tool run"}, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx", "node"}, "bun": {"x", "run"}, "deno": {"run", "eval"},
	"poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "rye": {"run"}, "pixi": {"run", "exec"}, "pipx": {"run"}, "conda": {"run"}, "mamba": {"run"}, "micromamba": {"run"},
	"bundle": {"exec"}, "go": {"run", "tool"}, "cargo": {"run", "script"}, "dotnet": {"run", "exec", "script"}, "swift": {"run"}, "stack": {"exec", "run", "runghc"},
	"cabal": {"run", "exec"}, "mix": {"run"}, "rails": {"runner"}, "composer": {"exec"}, "mise": {"exec", "x"}, "asdf": {"exec"}, "direnv": {"exec"}, "opam": {"exec"}, "nix": {"run", "shell", "develop"},
	"rustup": {"run"}, "pyenv": {"exec"}, "rbenv": {"exec"}, "volta": {"run"}, "fnm": {"exec"}, "corepack": {"pnpm", "yarn", "npm"}, "devbox": {"run"}, "vagrant": {"ssh"},
	"git": {"bisect run", "submodule foreach", "rebase", "filter-branch", "difftool", "mergetool"},
}

// containers are sub-commands that start a program in a container, whose image
// or name comes first.
var containers = map[string][]string{
	"docker": {"run", "exec", "container run", "container exec", "compose run", "compose exec"}, "podman": {"run", "exec", "container run", "container exec"},
	"nerdctl": {"run", "exec"}, "docker-compose": {"run", "exec"}, "oc": {"exec", "run", "rsh"}, "kubectl": {"exec", "run"}, "multipass": {"exec"}, "distrobox": {"enter"}, "toolbox": {"run"},
}

// versionSuffix ends a program's name that says its version: python3.12.
var versionSuffix = regexp.MustCompile(`-?[0-9][0-9.]*$`)

// programName is a program as the lists above call it.
func programName(word string) string {
	name := strings.TrimSuffix(strings.ToLower(lastSegment(word)), ".exe")
	if short := versionSuffix.ReplaceAllString(name, ""); short != "" {
		return short
	}
	return name
}

// wideCommand says why a pattern lets every program through.
func wideCommand(pattern string) string {
	fixed, _, starred := strings.Cut(strings.Replace(pattern, ":*", " *", 1), "*")
	words := strings.Fields(fixed)
	if !starred {
		return ""
	}
	closed := len(words) > 1 || strings.HasSuffix(fixed, " ")
	switch {
	case len(words) == 0:
		return "it names no program, so it lets every command through"
	case !closed:
		return fmt.Sprintf("its star stands in the program's name: %s also means other programs; write %q", pattern, words[0]+" *")
	}
	if !strings.HasSuffix(fixed, " ") { // the last word is open
		words = words[:len(words)-1]
	}
	name, rest := programName(words[0]), words[1:]
	need := wanted(name, rest)
	if need == 0 || spelt(rest, need) {
		return ""
	}
	return fmt.Sprintf("%s runs whatever its arguments say, so it lets every program through; name the script or sub-command whole", words[0])
}

// wanted is how many words behind a program's name have to be there before a star
// stands for arguments only; 0 for a program that starts no other.
func wanted(name string, rest []string) int {
	switch {
	case slices.Contains(remote, name):
		return 2
	case slices.Contains(starters, name) || slices.Contains(runners, name):
		return max(1, behind(subRunners[name], rest, 1), behind(containers[name], rest, 2))
	}
	return max(behind(subRunners[name], rest, 1), behind(containers[name], rest, 2))
}

// behind is the number of words wanted with one of the sub-commands: all of it,
// and more behind it.
func behind(subCommands []string, rest []string, more int) int {
	need := 0
	for _, sub := range subCommands {
		words := strings.Fields(sub)
		n := min(len(words), len(rest))
		switch {
		case len(rest) == 0 || !slices.Equal(words[:n], rest[:n]):
			continue
		case n < len(words):
			need = max(need, len(words)) // the star may be the rest of it
		default:
			need = max(need, len(words)+more)
		}
	}
	return need
}

// spelt reports that the first words are there and none is an option, whose
// value could be the program.
func spelt(rest []string, need int) bool {
	return len(rest) >= need && !slices.ContainsFunc(rest[:need], func(w string) bool { return strings.HasPrefix(w, "-") })
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
