package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestGitBash(t *testing.T) {
	const standard = `C:\Program Files\Git\bin\bash.exe`
	cases := []struct {
		name    string
		goos    string
		env     map[string]string
		git     string // what is found in PATH; "" = nothing
		files   []string
		want    string
		warning string
	}{
		{"other systems look for nothing", "linux", nil, `C:\Git\cmd\git.exe`, []string{`C:\Git\bin\bash.exe`, standard}, "", ""},
		{"other systems keep a value", "darwin", map[string]string{gitBashVariable: "/x"}, "", nil, "/x", ""},
		{"the owner's file is kept", "windows", map[string]string{gitBashVariable: `D:\b\bash.exe`}, `C:\Git\cmd\git.exe`, []string{`D:\b\bash.exe`, `C:\Git\bin\bash.exe`}, `D:\b\bash.exe`, ""},
		{"the owner's error is told", "windows", map[string]string{gitBashVariable: `D:\no\bash.exe`}, "", []string{standard}, `D:\no\bash.exe`, "names no file"},
		{"beside cmd", "windows", nil, `C:\Git\cmd\git.exe`, []string{`C:\Git\bin\bash.exe`, standard}, `C:\Git\bin\bash.exe`, ""},
		{"beside bin", "windows", nil, `C:\Git\bin\git.exe`, []string{`C:\Git\bin\bash.exe`}, `C:\Git\bin\bash.exe`, ""},
		{"above mingw64", "windows", nil, `C:\Git\mingw64\bin\git.exe`, []string{`C:\Git\bin\bash.exe`}, `C:\Git\bin\bash.exe`, ""},
		{"usr when bin has none", "windows", nil, `C:\Git\cmd\git.exe`, []string{`C:\Git\usr\bin\bash.exe`}, `C:\Git\usr\bin\bash.exe`, ""},
		{"letters and slashes", "windows", nil, `C:/GIT/CMD/GIT.EXE`, []string{`C:\GIT\bin\bash.exe`}, `C:\GIT\bin\bash.exe`, ""},
		{"a shim says nothing", "windows", nil, `C:\Users\me\scoop\shims\git.exe`, []string{`C:\Users\me\scoop\bin\bash.exe`, standard}, standard, ""},
		{"the usual place", "windows", nil, "", []string{standard}, standard, ""},
		{"another drive", "windows", map[string]string{"ProgramFiles": `E:\Programs\`}, "", []string{`E:\Programs\Git\bin\bash.exe`}, `E:\Programs\Git\bin\bash.exe`, ""},
		{"64 bits seen by 32", "windows", map[string]string{"ProgramFiles": `C:\P32`, "ProgramW6432": `C:\P64`}, "", []string{`C:\P64\Git\bin\bash.exe`}, `C:\P64\Git\bin\bash.exe`, ""},
		{"32 bits", "windows", map[string]string{"ProgramFiles(x86)": `C:\P32`}, "", []string{`C:\P32\Git\usr\bin\bash.exe`}, `C:\P32\Git\usr\bin\bash.exe`, ""},
		{"for one user", "windows", map[string]string{"LOCALAPPDATA": `C:\Users\me\AppData\Local`}, "", []string{`C:\Users\me\AppData\Local\Programs\Git\bin\bash.exe`}, `C:\Users\me\AppData\Local\Programs\Git\bin\bash.exe`, ""},
		{"nowhere", "windows", nil, `C:\git.exe`, []string{`C:\Windows\System32\bash.exe`}, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			host := windowsHost{
				goos: c.goos, env: func(name string) string { return c.env[name] },
				lookPath: func(string) (string, error) {
					if c.git == "" {
						return "", errors.New("not found")
					}
					return c.git, nil
				},
				exists: func(path string) bool { return slices.Contains(c.files, path) },
			}
			got, warning := host.gitBash()
			if got != c.want || !strings.Contains(warning, c.warning) || (c.warning == "") != (warning == "") {
				t.Errorf("gitBash() = %q, %q; want %q, %q", got, warning, c.want, c.warning)
			}
		})
	}
}

func TestGitBashOfACallerIsDropped(t *testing.T) {
	e := &Engine{o: Options{Environ: []string{"claude_code_git_bash_path=/owner"}}}
	got := e.environment(map[string]string{gitBashVariable: "/caller"})
	if !slices.Contains(got, gitBashVariable+"=/owner") || strings.Contains(strings.Join(got, "\n"), "/caller") {
		t.Errorf("environment = %q", got)
	}
}

func TestGitBashHint(t *testing.T) {
	if hint := gitBashHint("Claude Code on Windows requires Git-Bash (…)"); !strings.Contains(hint, gitBashVariable) || !strings.Contains(hint, "env block") {
		t.Errorf("hint = %q", hint)
	}
	if hint := gitBashHint("git-bash is fine"); hint != "" {
		t.Errorf("hint without a reason: %q", hint)
	}
}
