package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// workshop adds to tree what copies are about.
func workshop(t *testing.T) string {
	t.Helper()
	root := tree(t)
	for _, name := range []string{"conf/.mcp.json", "conf/x.go", "keys/id_rsa", "deep/a/.env", "parts/settings.json", "plain/x.go", "wide/0", "dst/x", ".git/config", "pkg/package.json", "package.json", "bare/settings.json", "links/x"} {
		write(t, filepath.Join(root, name))
	}
	for i := range maxCopied + 1 {
		write(t, filepath.Join(root, "wide", strings.Repeat("w", i+1)))
	}
	if err := os.MkdirAll(filepath.Join(root, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, os.Symlink, filepath.Join(filepath.Dir(root), "outside/new"), filepath.Join(root, "dst/out.go"))
	write(t, filepath.Join(root, "out.go"))
	return root
}

// judged spells the worst that the written paths of a text say: p protected, s
// sensitive, u unresolved, o outside.
func judged(paths []Path) string {
	marks := ""
	for _, m := range []struct {
		mark string
		has  func(Path) bool
	}{
		{"p", func(p Path) bool { return p.Protected }}, {"s", func(p Path) bool { return p.Sensitive }},
		{"u", func(p Path) bool { return !p.Resolved }}, {"o", func(p Path) bool { return p.Resolved && !p.Inside }},
	} {
		for _, p := range paths {
			if p.Mode == Write && m.has(p) {
				marks += m.mark
				break
			}
		}
	}
	return marks
}

func TestCopies(t *testing.T) {
	root := workshop(t)
	for text, want := range map[string]string{
		"cp conf/x.go dst": "", "cp conf/x.go .": "", "mv plain/x.go dst/": "", "cp -r plain dst": "", "cp plain/x.go new.go": "",
		"cp parts/settings.json .claude": "ps", "cp parts/settings.json .claude/": "ps", "mv parts/settings.json .claude": "ps", "ln -s ../x parts/settings.json .claude": "ps", "install parts/settings.json .claude": "ps",
		"cp -t .claude parts/settings.json": "ps", "cp --target-directory=.claude parts/settings.json": "ps", "cp --target=.claude parts/settings.json": "ps", "cp -t.claude parts/settings.json": "ps", "rsync parts/settings.json .claude": "ps",
		"cp conf/.mcp.json .": "p", "cp conf/.mcp.json dst": "p", "cp pkg/package.json .": "s", "cp pkg/package.json new.json": "", "cp -r conf dst": "p", "cp -r conf/. .": "p", "cp -a conf new": "p", "mv conf new": "p", "mv parts .claude": "ps", "rsync -a parts/ .claude": "ps", "cp -r bare/. .claude": "ps",
		"cp -r keys dst": "p", "cp -r deep dst": "p", "cp -r wide dst": "s", "cp --parents conf/.mcp.json dst": "p", "cp conf/* dst": "", "cp conf/.m* dst": "p", "cp plain/* dst": "", "cp \"$x\" dst": "su", "cp \"$x\" new": "",
		"cp out.go dst": "o", "cd conf && cp .mcp.json ../dst": "p", "cp conf/x.go ../outside": "o",
		"tar xf a.tar": "su", "tar -xf a.tar": "su", "tar --extract -f a.tar": "su", "tar xf a.tar -C plain": "", "tar xf a.tar -C .claude": "su", "tar xf a.tar --directory=pkg": "s", "tar xf a.tar -C new": "", "tar xf a.tar -C \"$x\"": "su", "tar xf a.tar -C ../outside": "o",
		"tar tf a.tar": "", "tar cf a.tar src": "", "unzip a.zip": "su", "unzip a.zip -d plain": "", "unzip -l a.zip": "", "unzip a.zip -dpkg": "s", "cpio -id": "su", "cpio -o": "", "7z x a.7z": "su", "7z l a.7z": "", "cd plain && tar xf ../a.tar": "",
	} {
		_, paths := resolver(root).Shell(text)
		if got := judged(paths); got != want {
			t.Errorf("%q: %q, want %q: %+v", text, got, want, paths)
		}
	}
}

// A value that is attached behind other letters is looked at, too.
func TestAttachedValues(t *testing.T) {
	root := workshop(t)
	write(t, filepath.Join(root, ".env"))
	for text, want := range map[string]bool{
		"xargs -ra.env x": true, "date -uf.env": true, "file -bf.env": true, "grep -ohf.env x": true, "tar -czvTx.env": true, "tar -czvT.env": true, "grep -f.env x": true, "x -abcdef.mcp.json": true, "x -rkeys/id_rsa": true,
		"ls -la": false, "x -abc": false, "x --env": false, "grep -rn x src": false, "find -files0-from .env": true,
	} {
		_, paths := resolver(root).Shell(text)
		got := false
		for _, p := range paths {
			got = got || p.Protected
		}
		if got != want {
			t.Errorf("%q: protected %v, want %v: %+v", text, got, want, paths)
		}
	}
}

// find that follows links acts outside of the folders it is given.
func TestFindRoams(t *testing.T) {
	root := workshop(t)
	for text, want := range map[string]string{ // of the first folder: mode, and ? when not resolved
		"find src -name x": "read", "find -L src": "read", "find src -delete": "write", "find -L src -delete": "write?", "find src -follow -delete": "write?", "find -L src -exec x {} +": "read?", "find src -exec x {} +": "read", "fd --follow -x y . src": "read?",
	} {
		s, paths := resolver(root).Shell(text)
		got := ""
		for _, p := range paths {
			if p.Raw == "src" && got == "" {
				got = string(p.Mode)
				if !p.Resolved {
					got += "?"
				}
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, s.Reason)
		}
	}
	if s := Analyse("find -files0-from names -print"); s.OK {
		t.Error("find that reads names from a file is ok")
	}
}

// An interpreter without a script reads code from its input; options that read
// the names of files from a file hide what is read.
func TestHiddenInput(t *testing.T) {
	for text, ok := range map[string]bool{
		"python3 -v": false, "python3 -i": false, "python3 -i x.py": true, "python3 -u": false, "python3 -X dev": false, "python3 -W ignore x.py": true, "python3 -V": true, "python3 --version": true, "python3 -u x.py": true, "python3 -m http.server": true, "python3 -B -v": false, "python3 -V -v": false,
		"node -i": false, "node -v": true, "node --version": true, "node": false, "node --title x": false, "node --no-warnings x.js": true, "node --test": true, "node --enable-source-maps": false, "node --interactive x": false, "nodejs -v": true, "ruby -v": true, "perl -v": true, "perl -w": false, "perl -I lib": false, "perl -I lib x.pl": true, "ghci -v": false, "julia --version": true, "lua -v": true, "lua -l x": false,
		"php -v": true, "php -d a=b": false, "php -S localhost:1": true, "bun test": true, "deno run x": true, "bun run x": true, "echo x | python3 -v": false, "python3 -v <<< x": false, "python3 \"$x\"": false, "python3 -q": false,
		"wc --files0-from=x": false, "wc --files x": false, "wc --f=x": false, "du --files0-from x": false, "du --files x": false, "sort --files0-from=x": false, "file -f x": false, "file -bf x": false, "file --files-from x": false, "tar -cf a -T x": false, "tar cTf x a": false, "tar --files-from=x -cf a": false, "rsync --files-from=x a b": false,
		"wc -l x": true, "du -sh x": true, "file -b x": true, "tar -czf a b": true,
	} {
		if s := Analyse(text); s.OK != ok {
			t.Errorf("%q: ok %v (%s)", text, s.OK, s.Reason)
		}
	}
}

// Texts that cost a policy most are cut.
func TestTooManyWords(t *testing.T) {
	for name, text := range map[string]string{
		"wrappers": strings.Repeat("env ", 4000) + "ls", "operands": "rm -rf " + strings.Repeat("/ ", 8000), "commands": strings.Repeat("rm -rf d \"$x\";", 1000), "nested": strings.Repeat("nice ", 4) + "x" + strings.Repeat(" a", 900),
	} {
		s := Analyse(text)
		words := 0
		for _, c := range s.Commands {
			words += 1 + len(c.Args)
		}
		if s.OK || words > maxShellWords+maxCommandsKept || len(s.Commands) > maxCommandsKept {
			t.Errorf("%s: ok %v, %d words in %d commands", name, s.OK, words, len(s.Commands))
		}
	}
	if s := Analyse("x" + strings.Repeat(" a", maxShellWords-1)); !s.OK {
		t.Errorf("words within the bound: %s", s.Reason)
	}
}
