package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseDaily(t *testing.T) {
	for _, test := range []struct{ text, tool, want, err string }{
		{"npm test*", "", "Bash(npm test*)", ""},
		{"Bash(git push:*)", "", "Bash(git push:*)", ""},
		{"Bash(*)", "", "Bash", ""},
		{"Bash", "", "Bash", ""},
		{"echo (x)", "", "Bash(echo (x))", ""},
		{"X(y)", "", "", "takes no pattern"}, {"x(y)", "", "", "is no tool's name"}, {"Bash(Bash(make *))", "", "", "repeats the tool"},
		{"Webfetch", "", "Bash(Webfetch)", ""}, {"BASH(x)", "", "", "the tool is spelt Bash"}, {"mcp__*", "", "mcp__*", ""}, {"mcp__gi*", "", "mcp__gi*", ""}, {"mcp__a(*)", "", "mcp__a", ""},
		{"Task(Explore)", "", "Agent(Explore)", ""},
		{"docs/**", "Read", "Read(docs/**)", ""},
		{"mcp__a__b", "", "mcp__a__b", ""},
		{"mcp__a__*", "", "mcp__a__*", ""},
		{"mcp__a__b(x)", "", "", "takes no pattern"},
		{"WebFetch(domain:*.example.com)", "", "WebFetch(domain:*.example.com)", ""},
		{"WebFetch(https://example.com)", "", "", "want WebFetch(domain:"},
		{"WebFetch(domain:*)", "", "", "want WebFetch(domain:"},
		{"Read(~/x)", "", "", "home folder"},
		{"Read(../x)", "", "", "leads nowhere"},
		{"Edit({a,b})", "", "", "knows *, ** and ?"},
		{"npm\ttest", "", "", "control or invisible"},
		{"npm\u200btest", "", "", "control or invisible"},
		{strings.Repeat("x", maxDailyText+1), "", "", "at most"},
		{"x", "no tool", "", "is no tool's name"},
	} {
		row, err := parseDaily(test.text, test.tool)
		if test.err == "" && (err != nil || row.String() != test.want) {
			t.Errorf("%q: %s, %v, want %s", test.text, row, err, test.want)
		}
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.err)
		}
	}
}

func TestTooWide(t *testing.T) {
	for text, wide := range map[string]bool{
		"npm test*": false, "npm *": false, "npm*": true, "*": true, "* test": true, "python*": true, "python *": true,
		"python -c *": true, "python3 -m *": true, "python manage.py *": false, "python manage.py test": false, "bash -c*": true,
		"/bin/bash *": true, "sudo:*": true, "sudo *": true, "env *": true, "node -e *": true, "npx *": true, "npx eslint *": false,
		"git push:*": false, "Bash": true, "Edit": true, "Read": false, "Edit(**)": true, "Read(*)": false, "Edit(/**)": true,
		"Edit(docs/**)": false, "WebFetch": true, "WebFetch(domain:example.com)": false, "mcp__a__b": false, "mcp__a__*": false,
		"mcp__*": true, "mcp__a": false, "bash build.sh": false,
		"uv run *": true, "uv *": false, "uv run pytest *": false, "uv tool run *": true, "npm exec *": true, "npm run *": false, "npm run build *": false, "bunx *": true,
		"pnpx *": true, "tsx *": true, "python3.12 *": true, "python3.12 x.py *": false, "mawk *": true, "java *": true, "java -jar *": true, "cargo run *": true, "cargo test *": false,
		"docker run *": true, "docker run x *": true, "docker run x ls *": false, "docker ps *": false, "docker run -it x *": true, "ssh host *": true, "ssh *": true, "ssh host uptime *": false,
		"go run *": true, "go run ./x *": false, "go test *": false, "npx x *": false, "npx x*": true, "make *": false, "git bisect *": true, "git log *": false,
		"WebFetch(domain:*.com)": true, "WebFetch(domain:*.example.com)": false, "python3.exe *": true, "uv r*": false,
	} {
		row, err := parseDaily(text, "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := row.tooWide(); (got != "") != wide {
			t.Errorf("%s: %q, want too wide %v", text, got, wide)
		}
	}
}

func TestMatchesNothing(t *testing.T) {
	for text, never := range map[string]bool{
		"npm test": false, `git commit -m "x"`: true, "a && b": true, "echo $HOME": true, "ls > x": true, "Read(a$b)": false, "echo [ab]": true, "echo a.b": false,
		"timeout 5 *": true, "nice make *": true, "nohup x": true, "A=b make *": true, "./build.sh *": true, "/usr/bin/npm *": true, "a  b": true, "time make *": false, "git push:*": false, "* test": false,
	} {
		row, err := parseDaily(text, "")
		if err != nil || (row.matchesNothing() != "") != never {
			t.Errorf("%s: %q, %v, want never %v", text, row.matchesNothing(), err, never)
		}
	}
}

// Rows are added to and taken out of a file that somebody also edits by hand.
func TestDailyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.toml")
	written := dailyIntro + `
# mine
[[daily_rules]]
effect = "deny" # never
tool = "Bash"
pattern = "a \"b\" \\ #"

[[ daily_rules ]]
effect = "ask"
tool = "Read"
reason = """
several
lines"""
`
	if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := readDaily(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := dailyRow{Effect: "allow", Tool: "Bash", Pattern: `x "y" \ é # [[`, Folder: "/a b", Reason: "why", Added: "2026-01-02"}
	more, err := f.with(odd)
	if err != nil {
		t.Fatal(err)
	}
	if len(more.rows) != 3 || more.rows[2] != odd || !strings.HasPrefix(more.text, written) {
		t.Errorf("rows %+v in\n%s", more.rows, more.text)
	}
	for n := range 3 {
		less, err := more.without(n + 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Delete(slices.Clone(more.rows), n, n+1); !slices.Equal(less.rows, want) {
			t.Errorf("without %d: %+v", n+1, less.rows)
		}
	}
	full := make([]dailyRow, maxDailyRows)
	if _, err := f.with(full...); err == nil {
		t.Error("more rows than the bound were taken")
	}
}

func TestDailyFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"daily_version = 1\n[[daily_rules]]\neffect = \"allow\"\ntool = \"Bash\"\npatern = \"x\"\n":  `unknown key "patern"`,
		"daily_version = 1\n[[daily_rules]]\neffect = \"alow\"\ntool = \"Bash\"\n":                   "row 1: want effect",
		"daily_version = 1\n[[daily_rules]]\neffect = \"allow\"\ntool = \"Bash\"\nPattern = \"x\"\n": `row 1: unknown key "Pattern"`,
		"daily_version = 1\n[[daily_rules]]\neffect = \"allow\"\ntool = \"Bash\"\nfoldr = \"/x\"\n":  `row 1: unknown key "foldr"`,
		"daily_version = 1\n[[daily_rules]]\neffect = \"allow\"\ntool = \"Bash\"\npattern = 7\n":     "row 1: pattern is no text",
		"daily_version = 1\n[[daily_rule]]\neffect = \"deny\"\n":                                     `unknown key "daily_rule"`,
		"daily_version = 1\nother = 2\n":                          `unknown key "other"`,
		"daily_version = 1\ndaily_rules = \"x\"\n":                "no list of tables",
		"daily_version = 1\ndaily_rules = [\"x\"]\n":              "row 1: is no table",
		"daily_version = 1\n[daily_rules]\neffect = \"deny\"\n":   "no list of tables",
		"daily_version = 1\n[[daily_rules]]\neffect = \"deny\"\n": "row 1: want effect",
		"[[daily_rules]]\neffect = \"deny\"\ntool = \"Bash\"\n":   "want daily_version = 1",
		"daily_version = \n":                                      ":1:",
	} {
		if _, err := decodeDaily("rules.toml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWithoutTest(t *testing.T) {
	one, two := dailyRow{Effect: "allow", Tool: "Bash", Pattern: "a"}, dailyRow{Effect: "allow", Tool: "Bash", Pattern: "b"}
	base := mustDaily("daily/daily_test.rego")
	both := withTests(base, []dailyRow{one, two})
	if again := withTests(both, []dailyRow{one, two}); again != both {
		t.Error("a test was added twice")
	}
	if got := withoutTest(withoutTest(both, one), two); strings.TrimSpace(got) != strings.TrimSpace(base) {
		t.Errorf("left:\n%s", got)
	}
	if got := withoutTest(base, one); got != base {
		t.Error("a test that is not there was taken out")
	}
}

func TestWithPolicyLists(t *testing.T) {
	paths, data := []string{"policies"}, []string{"policies/rules.toml"}
	const lines = "paths = [\"policies\"]\ndata = [\"policies/rules.toml\"]\n"
	for _, test := range []struct{ name, text, want, err string }{
		{"empty", "", "[policy]\n" + lines, ""},
		{"other tables", "profile = \"ci\"\n[limits]\nmax_pending = 3\n", "profile = \"ci\"\n[limits]\nmax_pending = 3\n\n[policy]\n" + lines, ""},
		{"the table", "[policy] # mine\ndefault_effect = \"deny\"\n[limits]\nmax_pending = 3\n", "[policy] # mine\n" + lines + "default_effect = \"deny\"\n[limits]\nmax_pending = 3\n", ""},
		{"the lists", "[policy]\ndata = []\npaths = [ \"a\" ]\n", "[policy]\ndata = [\"policies/rules.toml\"]\npaths = [\"policies\"]\n", ""},
		{"several lines", "[policy]\npaths = [\n \"a\",\n]\n", "", "several lines"},
		{"a comment", "[policy]\npaths = [\"a\"] # b\n", "", "with a comment"},
		{"dotted", "policy.paths = [\"a\"]\n", "", "cannot be edited here"},
		{"in a text", "profile = \"\"\"\n[policy]\n\"\"\"\n", "", "cannot be edited here"},
		{"broken", "[policy\n", "", "gatehouse.toml:1:8:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := withPolicyLists("gatehouse.toml", test.text, paths, data)
			if test.err == "" && (err != nil || got != test.want) {
				t.Errorf("%v\n%s", err, got)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

// The test that comes with a row passes, whatever the row is.
func TestRowsBringTestsThatPass(t *testing.T) {
	var rows []dailyRow
	for _, text := range []string{
		"npm test*", "npm test", "git push:*", "* test", "Bash", "uname *", "echo a.b", "Read(docs/**)", "Read(*.go)", "Edit(src/)", "Edit(**/b/**)",
		"Write(//opt/x)", "NotebookEdit(n.ipynb)", "Grep(src)", "Read", "WebFetch", "WebFetch(domain:example.com)", "WebFetch(domain:*.example.com)",
		"Agent(Explore)", "Agent", "Skill(x)", "mcp__a__b", "mcp__a__*", "mcp__a", "WebSearch",
	} {
		for _, effect := range []string{"allow", "ask", "deny"} {
			row, err := parseDaily(text, "")
			if err != nil {
				t.Fatal(err)
			}
			row.Effect = effect
			rows = append(rows, row)
		}
	}
	folder := t.TempDir()
	p := dailyPlace{folder: folder, data: filepath.Join(folder, "rules.toml"), module: filepath.Join(folder, "daily.rego"), tests: filepath.Join(folder, "daily_test.rego")}
	f, err := readDaily(p.data)
	if err == nil {
		f, err = f.with(rows...)
	}
	if err == nil {
		err = p.write(f, withTests(mustDaily("daily/daily_test.rego"), rows))
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, problems strings.Builder
	code := run(t.Context(), []string{"policy", "test", folder, "--data", p.data}, strings.NewReader(""), &out, &problems, []string{"HOME=" + folder})
	if code != policyYes || strings.Count(out.String(), "tests passed") != 1 {
		t.Errorf("exit code %d\n%s%s", code, &out, &problems)
	}
}

// A row that would silently never be met is refused, whoever wrote it.
func TestRowsThatMeanNothing(t *testing.T) {
	for _, test := range []struct{ row, want string }{
		{`effect = "deny", tool = "bash"`, "spelt Bash"},
		{`effect = "deny", tool = "Bash(make *)"`, "no tool's name"},
		{`effect = "deny", tool = "Bash", pattern = "Bash(make *)"`, "repeats the tool"},
		{`effect = "deny", tool = "Bash", pattern = " make"`, "blanks around"},
		{`effect = "deny", tool = "Read", pattern = "~/x"`, "home folder"},
		{`effect = "deny", tool = "WebSearch", pattern = "x"`, "takes no pattern"},
		{`effect = "deny", tool = "Bash", folder = "/x/"`, "absolute and clean"},
		{`effect = "deny", tool = "Bash", folder = "~/x"`, "absolute and clean"},
		{`effect = "deny", tool = "Bash", folder = "x"`, "absolute and clean"},
		{`effect = "deny", tool = "Bash", folder = "/"`, "absolute and clean"},
		{`effect = "allow", tool = "mcp__gi*"`, "name the server whole"},
		{`effect = "deny", tool = "mcp__gi*"`, ""},
		{`effect = "deny", tool = "Task", pattern = "*"`, ""},
		{`effect = "deny", tool = "Bash", pattern = "", folder = "/x y"`, ""},
	} {
		_, err := decodeDaily("rules.toml", "daily_version = 1\ndaily_rules = [{"+test.row+"}]\n")
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), "row 1: ") || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.row, err, test.want)
		}
	}
}

// Whatever file of data holds them, odd rows are an error before they are loaded.
func TestReadDataChecksDailyRows(t *testing.T) {
	for name, text := range map[string]string{
		"a.toml": "daily_version = 1\n[[daily_rules]]\neffect = \"allow\"\ntool = \"Bash\"\npatern = \"x\"\n",
		"b.json": `{"daily_version": 1, "daily_rules": [{"effect": "allow", "tool": "Bash", "patern": "x"}]}`,
		"c.toml": "daily_Rules = []\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readData([]string{path}); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
