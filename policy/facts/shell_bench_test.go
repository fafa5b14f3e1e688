package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nasty are texts that grow a parser's stack or its work; each is repeated to
// its number of openers or to the longest text that is parsed.
var nasty = []string{
	"(", "( ", "((", "{ ", "$(", "\"$(", "`", "<(", ">(", "$((", "${a:-", "\"${a:-", "${a[", "[[ ", "[[ (", "a[", "a=(", "a=([", "a+=(", "@(", "@(a|",
	"if ", "while ", "until ", "for i in ", "for ((", "case x in ", "case x in a) ", "! ", "time ", "coproc ", "f() ", "function f ",
	"a|", "a||", "a&&", "a;", "a&", "a\n", "<<a ", "<<a\n", "<<a;", "<<<a ", ">a ", ">$x ", "2>&1 ", "a=1 ", "a=b:~ ", "\\\n", "\\a", "'a'", "\"a\"", "$a", "$'\\x41'", "{a,b}", "{a,",
	"x ", "a/b ", ".env* ", "../ ", "in/../", "a/in/../", "/proc/self/cwd/", "./x ", "~/x ", "-x=y:z ", "a=b:c@d ", "=a:b ", "@a=@b ", "* ", "a{b,c}d ", "[[ $a == ", "[[ -n a && ", "let a ", "a[b[c]]=1 ", "((a+", "((a?",
	"eval ", "eval eval ", "eval 'eval ", "env ", "xargs ", "env x=y ", "timeout 1 ", "sh -c ", "sh -c 'sh -c ", "sudo -u ", "find -exec ", "find -exec a ';' -exec ", "git -C x ", "git show a:b ", "git -c a=b ",
	"cd a;", "cd a&&", "(cd a;", "cd ..;", "{ cd a;", "for x in a;do cd b;", "if cd a;then ", "sed -e s/a/b/ ", "sed 's/a/b/;", "printf -v a[ ", "# x\n", "a # x\n", "{ # x\n", "169.254.", "1.1.1.1 ", "0xa9fe", "\u0430b ", "é", "dd of=", "cp a ", "tee a ", "curl -o ", "tar -",
}

// nastyTexts spells the patterns out.
func nastyTexts() map[string]string {
	all := map[string]string{
		"x and 8000 args": "x" + strings.Repeat(" a", 8000), "deep path": "cat " + strings.Repeat("a/../", 3000), "deep dots": "cat " + strings.Repeat("../", 5000),
		"one long word": "cat " + strings.Repeat("a", 16000), "one long braces": "cat " + strings.Repeat("{a,b}", 500), "one long glob": "cat .e" + strings.Repeat("*", 16000), "long option": "curl --" + strings.Repeat("a=", 8000),
		"shells": "sh -c \"sh -c 'sh -c \\\"sh -c x" + strings.Repeat(" a", 7900) + "\\\"'\"", "wrappers": "env nice env nohup x" + strings.Repeat(" a", 7900),
		"git words": "git log " + strings.Repeat("a:b ", 4000), "git configs": "git " + strings.Repeat("-c a=b ", 2300) + "log", "commas": "cat .e{" + strings.Repeat(",", 16000) + "}",
		"cds": strings.Repeat("cd src;", 18) + strings.Repeat("cat a ", 2500), "colons": "cat " + strings.Repeat(":", 16000), "equals": "cat " + strings.Repeat("=a", 8000),
		"numbers": "cat " + strings.Repeat("1", 16000), "numbers and dots": "cat " + strings.Repeat("1.1.1.1.", 2000), "sed": "sed '" + strings.Repeat("s/a/b/;", 2300) + "'",
	}
	for _, unit := range nasty {
		all["400 × "+unit] = strings.Repeat(unit, min(400, MaxShellBytes/len(unit)))
		all["16K × "+unit] = strings.Repeat(unit, MaxShellBytes/len(unit))
		all["x 16K × "+unit] = "x " + strings.Repeat(unit, (MaxShellBytes-2)/len(unit))
	}
	return all
}

func BenchmarkShellWorst(b *testing.B) {
	r := resolver(tree(b))
	for name, text := range nastyTexts() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Shell(text)
			}
		})
	}
}

// checkout is tree as a plain git repository.
func checkout(t testing.TB) string {
	root := tree(t)
	for name, text := range map[string]string{
		".git/HEAD":                            "ref: refs/heads/main\n",
		".git/config":                          "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = a\n",
		".git/objects/info/x":                  "",
		".git/hooks/pre-commit.sample":         "",
		"sub/.git/config":                      "[core]\n\tpager = x\n",
		"hooked/.git/config":                   "[core]\n",
		"hooked/.git/hooks/pre-commit":         "",
		"indexed/.git/config":                  "[core]\n",
		"indexed/.git/hooks/post-index-change": "",
		"bare/HEAD":                            "",
		"bare/objects/x":                       "",
		"test.txt":                             "",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func BenchmarkShell(b *testing.B) {
	root := checkout(b)
	places := NewPlaces(filepath.Join(filepath.Dir(root), "home"), []string{filepath.Join(root, "guard")})
	for _, text := range []string{
		"git status && npm test", "ls -la", "cat src/a.go", "cd src && cat a.go", "timeout 60 go test ./... 2>&1 | tail -20", "bash -c 'cd src && ls'",
		"git commit -m 'fix: a thing' -- src/a.go", "for f in src/*.go; do wc -l \"$f\"; done", "cat <<'X' > out.txt\nhello\nX", "sed -n '1,20p' src/a.go",
	} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewResolver(places, root, []string{root}).Shell(text)
			}
		})
	}
}
