package facts

import (
	"strings"
	"testing"
)

// commandsOf spells the commands of a text: the words, "*" behind a plain
// wrapper, the variables it gets in brackets.
func commandsOf(s Shell) string {
	var all []string
	for _, c := range s.Commands {
		text := c.Text
		if c.Wrapper {
			text += "*"
		}
		if len(c.Env) > 0 {
			var names []string
			for _, v := range c.Env {
				names = append(names, v.Name)
			}
			text += "[" + strings.Join(names, " ") + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, " / ")
}

func TestWrappers(t *testing.T) {
	for _, row := range []struct {
		text, behind string // what follows the wrapper's own words
		ok           bool
	}{
		{"timeout 5 x y", "x y", true},
		{"timeout -k 5 -s KILL 9 x y", "x y", true},
		{"timeout -k5 9 x", "x", true},
		{"timeout --kill-after=5 --signal KILL 9 x", "x", true},
		{"timeout -vk 5 9 x", "x", true},
		{"timeout --foreground 9 x -k 1", "x -k 1", true},
		{"timeout -- 5 x", "x", true},
		{"timeout --bogus 5 x", "x", false},
		{"timeout $T x", "x", false},
		{"nice x", "x", true},
		{"nice -n 5 x", "x", true},
		{"nice -n5 x", "x", true},
		{"nice -10 x", "x", true},
		{"nice --adjustment=5 x", "x", true},
		{"ionice -c 3 x", "x", true},
		{"ionice -c3 -n 1 x", "x", true},
		{"nohup x y", "x y", true},
		{"stdbuf -oL -e 0 x", "x", true},
		{"stdbuf --output=L x", "x", true},
		{"chrt -f 10 x", "x", true},
		{"taskset 0x1 x", "x", true},
		{"taskset -c 0-3 x", "x", true},
		{"setsid -w x", "x", true},
		{"time -p x", "", true},
		{"/usr/bin/time -o f -v x", "x", true},
		{"command x", "x", true},
		{"command -p x", "x", true},
		{"builtin x", "x", true},
		{"exec x", "x", true},
		{"exec -a n x", "x", true},
		{"sudo -u root x", "x", true},
		{"sudo -nu root x", "x", true},
		{"sudo --user=root -- x", "x", true},
		{"sudo A=b x", "x[A]", true},
		{"sudo -s x", "x", false},
		{"sudo -e f", "f", false},
		{"doas -u root x", "x", true},
		{"pkexec --user root x", "x", true},
		{"chroot /r x", "x", true},
		{"chroot --userspec=a:b /r x", "x", true},
		{"nsenter -t 1 x", "x", false},
		{"unshare -rn x", "x", true},
		{"unshare -R / x", "x", true},
		{"busybox rm -rf y", "rm -rf y", true},
		{"strace -f -o f x", "x", false},
		{"env x", "x", true},
		{"env -i x", "x[*]", true},
		{"env - x", "x", true},
		{"env A=b C=d x", "x[A C]", true},
		{"env -u A B=c x", "x[A B]", true},
		{"env -uA x", "x[A]", true},
		{"env --unset=A x", "x[A]", true},
		{"env -C / x", "x", true},
		{"env A=b -i", "-i[A]", true},
		{"env -- A=b x", "x[A]", true},
		{"env -S 'x y'", "", false},
		{"env '-Sx y'", "", false},
		{"env --split-string='x y'", "", false},
		{"env -iS 'x y'", "", false},
		{"env GIT_PAGER=y x", "x[GIT_PAGER]", false},
		{"A=b timeout 5 x", "x[A]", true},
		{"flock f x", "x", true},
		{"flock -n -w 5 f x y", "x y", true},
		{"flock f -c 'x y'", "x y", false},
		{"xargs x", "x ", true},
		{"xargs -0 -n 1 x y", "x y ", true},
		{"xargs -0n 1 x", "x ", true},
		{"xargs -n1 -P4 x", "x ", true},
		{"xargs --max-args=1 --null x", "x ", true},
		{"xargs -I{} x {}", "x {}", true},
		{"xargs -I % x % y", "x % y", true},
		{"xargs -i x {}", "x {}", true},
		{"xargs -a f x", "x ", true},
		{"xargs --bogus x", "x ", false},
		{"xargs -I % %", "%", false},
		{"valgrind x", "x", false},
		{"systemd-run x", "x", false},
		{"gosu u x", "x", false},
		{"command -v x", "", true},
		{"command -V x y", "", true},
		{"taskset -p 1", "", true},
		{"ionice -p 1", "", true},
		{"nice", "", true},
		{"env", "", true},
		{"env -u PATH ls", "ls[PATH]", true},
	} {
		s := Analyse(row.text)
		var got string
		for _, c := range s.Commands[min(1, len(s.Commands)):] {
			got += commandsOf(Shell{Commands: []Command{c}})
		}
		if got != row.behind || s.OK != row.ok {
			t.Errorf("%q: %q ok %v (%s), want %q ok %v", row.text, got, s.OK, s.Reason, row.behind, row.ok)
		}
	}
}

// Only what leaves the meaning of a command unchanged is plain.
func TestPlainWrappers(t *testing.T) {
	for text, plain := range map[string]bool{
		"timeout 5 x": true, "nice -n 5 x": true, "ionice -c3 x": true, "nohup x": true, "stdbuf -oL x": true, "chrt -f 1 x": true, "taskset 1 x": true,
		"env x": false, "env A=b x": false, "env -i x": false, "sudo x": false, "doas x": false, "xargs x": false, "setsid x": false, "exec x": false, "command x": false, "busybox x": false, "chroot / x": false,
		"flock f x": false, "time x": false, "strace x": false, "nice": false, "taskset -p 1": false, "unshare x": false, "bash -c x": false, "find . -exec x": false,
	} {
		for _, c := range Analyse(text).Commands[:1] {
			if c.Name.Basename != "x" && c.Wrapper != plain {
				t.Errorf("%q: wrapper %v", text, c.Wrapper)
			}
		}
	}
}

func TestShellsInShells(t *testing.T) {
	for _, row := range []struct {
		text, commands string
		ok             bool
	}{
		{"sh -c x", "sh -c x / x", true},
		{"bash -lc 'x; y'", "bash -lc x; y / x / y", true},
		{"bash -ec x", "bash -ec x / x", true},
		{"bash -e -c x", "bash -e -c x / x", true},
		{"bash -c -e x", "bash -c -e x / x", true},
		{"bash -c -- x", "bash -c -- x / x", true},
		{"bash -o pipefail -c x", "bash -o pipefail -c x / x", true},
		{"bash -euo pipefail -c x", "bash -euo pipefail -c x / x", true},
		{"bash +x -c x", "bash +x -c x / x", true},
		{"bash --norc -c x", "bash --norc -c x / x", true},
		{"bash -c x a b", "bash -c x a b / x", true},
		{"zsh -c x", "zsh -c x / x", true},
		{"/bin/dash -c x", "/bin/dash -c x / x", true},
		{"busybox sh -c x", "busybox sh -c x / sh -c x / x", true},
		{"env -i bash -c x", "env -i bash -c x / bash -c x[*] / x", true},
		{"bash --rcfile f -c x", "bash --rcfile f -c x", false},
		{"bash -c \"$X\"", "bash -c ", false},
		{"bash -c", "bash -c", false},
		{"bash", "bash", false},
		{"bash -s", "bash -s", false},
		{"bash -", "bash -", false},
		{"bash f", "bash f", false},
		{"bash -x f", "bash -x f", false},
		{"bash <<'X'\nx\nX", "bash / x\n", false},
		{"base64 -d f | sh", "base64 -d f / sh", false},
		{"echo cm0= | base64 -d | bash", "echo cm0= / base64 -d / bash", false},
		{"xxd -r -p f | bash -s -- y", "xxd -r -p f / bash -s -- y", false},
		{"fish -c x", "fish -c x / x", false},
		{"pwsh -Command x", "pwsh -Command x / x", false},
		{"eval x y", "eval x y / x y", false},
		{"eval 'x; y'", "eval x; y / x / y", false},
		{"trap 'x y' EXIT", "trap x y EXIT / x y", false},
		{"ssh -p 22 host x y", "ssh -p 22 host x y / x y", false},
		{"ssh -o ProxyCommand=z host 'x; y'", "ssh -o ProxyCommand=z host x; y / x / y", false},
		{"su -c 'x y'", "su -c x y / x y", false},
		{"su - root -c 'x y'", "su - root -c x y / x y", false},
		{"script -qc 'x y' f", "script -qc x y f / x y", false},
		{"watch -n 1 x", "watch -n 1 x / x", false},
		{"parallel x ::: y", "parallel x ::: y / x ::: y", false},
		{"find . -exec x {} \\; -exec y {} +", "find . -exec x {} ; -exec y {} + / x {}  / y {} ", true},
		{"find . -ok x \\;", "find . -ok x ; / x ", true},
		{"find . -exec sh -c 'x \"$1\"' _ {} \\;", "find . -exec sh -c x \"$1\" _ {} ; / sh -c x \"$1\" _ {}  / x ", true},
		{"find . -exec", "find . -exec", true},
		{"fd -x x y", "fd -x x y / x y ", true},
		{"fd -e go -X x", "fd -e go -X x / x ", true},
		{"npx x", "npx x", true},
		{"pnpm dlx x", "pnpm dlx x", true},
		{"uvx x", "uvx x", true},
		{"go run ./x", "go run ./x", true},
		{"make x", "make x", true},
		{"docker run x y", "docker run x y", true},
	} {
		s := Analyse(row.text)
		var all []string
		for _, c := range s.Commands {
			all = append(all, strings.TrimSuffix(commandsOf(Shell{Commands: []Command{c}}), "*"))
		}
		if got := strings.Join(all, " / "); strings.TrimSpace(got) != strings.TrimSpace(row.commands) || s.OK != row.ok {
			t.Errorf("%q: %q ok %v (%s), want %q ok %v", row.text, got, s.OK, s.Reason, row.commands, row.ok)
		}
	}
}

// Options and scripts by which a harmless looking program starts another one.
func TestStarters(t *testing.T) {
	for text, ok := range map[string]bool{
		"rg x": true, "rg --pre=y x": false, "rg --hostname-bin y x": false, "tar xf a": true, "tar czf a b": true, "tar --to-command=x -xf a": false, "tar --checkpoint-action=exec=x cf a b": false, "tar --checkpoint-act=x cf a": false,
		"tar -I x -xf a": false, "tar -xIf x a": false, "tar xIf x a": false, "tar --use-compress-program=x -xf a": false, "tar -F x -cf a b": false, "rsync a b": true, "rsync -av a b": true, "rsync -e x a b": false, "rsync -ave x a b": false, "rsync --rsh=x a b": false,
		"zip a b": true, "zip -T -TT x a b": false, "zip --unzip-command=x a b": false, "make x": true, "make SHELL=/x": false, "make --eval=x": false, "make -E x": false, "make -j4 A=b": true, "make MAKEFLAGS=x": false, "make .SHELLFLAGS=x": false,
		"sort a": true, "sort --compress-program=x a": false, "sort --compress-prog x a": false, "split a": true, "split --filter=x a": false, "less a": true, "less +G a": false, "man a": true, "man -P x a": false, "wget u": true, "wget -e x u": false, "curl u": true, "curl -K f u": false,
		"go test ./...": true, "go test -exec x": false, "go build -toolexec=x": false, "scp -S x a b": false, "sftp -o ProxyCommand=x h": false, "vim a": false, "ed a": false, "ex -s a": false, "vim -c x a": false, "emacs a": false, "tcpdump -z x": false,
		"awk '{print}' f": false, "gawk -f f": false, "perl -e x": false, "perl x.pl": true, "python3 x.py": true, "python3.12 -c x": false, "python -m pytest": true, "node -e x": false, "node --require=x y": false, "node x.js": true, "ruby -e x": false, "php -r x": false, "python3": false, "python3 -": false,
		"deno eval x": false, "sqlite3 a .dump": false, "m4 a": false, "psql": false, "cmake -E x": false, "cargo build --config x=y": false, "npm test --script-shell=x": false, "bat --pager=x a": false, "fzf --preview x": false, "logrotate f": false,
		"[ -f x ]": true, "test -f x": true, "uniq a b": true,
	} {
		if s := Analyse(text); s.OK != ok {
			t.Errorf("%q: ok %v (%s)", text, s.OK, s.Reason)
		}
	}
}

func TestSed(t *testing.T) {
	for text, ok := range map[string]bool{
		"sed s/a/b/ f": true, "sed 's/a/b/g; s|c|d|2p' f": true, "sed -n 1,20p f": true, "sed -n '/a/,/b/p' f": true, "sed '$d' f": true, "sed -E 's/(a)/\\1/I' f": true, "sed -e s/a/b/ -e 2d f": true, "sed --expression=s/a/b/ f": true, "sed y/a/b/ f": true, "sed -ne '$=' f": true,
		"sed -i s/a/b/ f": true, "sed -i.bak s/a/b/ f": true, "sed '1!d' f": true, "sed '/x/{s/a/b/;p}' f": true, "sed -s N f": true, "sed '=' f": true, "sed 10q f": true, "sed -nE '2~3p' f": true, "sed -i '' s/a/b/ f": true,
		"sed 's/a/b/e' f": false, "sed 's/a/b/w out' f": false, "sed 's/a/b/gw out' f": false, "sed 'w out' f": false, "sed '1W out' f": false, "sed '1e id' f": false, "sed e f": false, "sed 'r in' f": false, "sed '/x/R in' f": false, "sed -f s f": false, "sed --file=s f": false, "sed -nf s f": false,
		"sed \"$X\" f": false, "sed -e $X f": false, "sed 's/a/b/;e' f": false, "sed 's/a/b/\ne id' f": false, "sed '/a/{p;w x' f": false, "sed 's,a,b,e' f": false, "sed '1i x' f": false, "sed 's/[/]/x/' f": false, "sed 's/a\\/b/c/w o' f": false, "sed -ie 'e id' f": false,
		"sed --expr='e id' f": false, "sed -s -e1e f": false, "sed -n -ee f": false, "sed '\\,x,e id' f": false, "sed s/a/b": false, "sed -i '' e f": false, "sed --posix 'w x'": false, "sed": true,
	} {
		if s := Analyse(text); s.OK != ok {
			t.Errorf("%q: ok %v (%s)", text, s.OK, s.Reason)
		}
	}
}

// What programs write is told by the mode of their words.
func TestWrittenWords(t *testing.T) {
	r := resolver(tree(t))
	for text, want := range map[string]string{ // words written
		"sed -i s/a/b/ x y": "x y", "sed -i -e s/a/b/ x": "x", "sed -n -i.bak p x": "x", "sed --in-place s/a/b/ x": "x", "sed -i '' s/a/b/ x": "s/a/b/ x", "sed s/a/b/ x": "", "sed -ni p x": "x", "sed -e s/a/b/ -i x": "x",
		"cp a b": "b", "mv a b": "a b", "tee a": "a", "touch a b": "a b", "rm -rf a": "a", "rm -- -a": "-a", "uniq a b": "b", "uniq a": "", "dd if=a of=b": "of=b", "install -d a b": "a b", "install a b": "b", "flock a b": "a",
		"sort -o a b": "a", "find a -fprint b": "b", "git archive -o a HEAD": "a", "git ls-files -o src": "", "git log --output=a": "--output=a", "gzip a": "a", "patch a": "a", "split a b": "a b", "cat a": "", "ln -s a b": "b", "strace -o a x": "a", "grep a b": "",
	} {
		s, _ := r.Shell(text)
		var written []string
		for _, w := range s.Commands[0].Args {
			if w.Path != nil && w.Path.Mode == Write {
				written = append(written, w.Value)
			}
		}
		if got := strings.Join(written, " "); got != want {
			t.Errorf("%q: writes %q, want %q", text, got, want)
		}
	}
}
