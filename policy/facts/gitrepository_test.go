package facts

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatARepositoryStarts(t *testing.T) {
	for name, row := range map[string]struct {
		files map[string]string
		links map[string]string
		runs  bool
		hooks bool
	}{
		"no repository":     {},
		"plain":             {files: map[string]string{".git/config": "[core]\n\tbare = false\n"}},
		"pager":             {files: map[string]string{".git/config": "[core]\n\tPager = x\n"}, runs: true, hooks: true},
		"filter":            {files: map[string]string{".git/config": "[filter \"x\"]\n\tclean = y\n"}, runs: true, hooks: true},
		"helper transport":  {files: map[string]string{".git/config": "[remote \"o\"]\n\turl = ext::x\n"}, runs: true, hooks: true},
		"escape":            {files: map[string]string{".git/config": "[core]\n\tx = \\\n"}, runs: true, hooks: true},
		"too long":          {files: map[string]string{".git/config": strings.Repeat("#", maxGitConfig+1)}, runs: true, hooks: true},
		"no config":         {files: map[string]string{".git/HEAD": ""}, runs: true, hooks: true},
		"file":              {files: map[string]string{".git": "gitdir: x"}, runs: true, hooks: true},
		"linked config":     {files: map[string]string{".git/HEAD": "", "c": "[core]\n"}, links: map[string]string{".git/config": "../c"}, runs: true, hooks: true},
		"submodules":        {files: map[string]string{".git/config": "", ".git/modules/x": ""}, runs: true, hooks: true},
		"hook":              {files: map[string]string{".git/config": "", ".git/hooks/pre-push": ""}, hooks: true},
		"sample hook":       {files: map[string]string{".git/config": "", ".git/hooks/pre-push.sample": ""}},
		"index hook":        {files: map[string]string{".git/config": "", ".git/hooks/post-index-change": ""}, runs: true, hooks: true},
		"bare":              {files: map[string]string{"HEAD": "", "objects/x": ""}, runs: true, hooks: true},
		"commondir":         {files: map[string]string{".git/config": "", ".git/commondir": "../x"}, runs: true, hooks: true},
		"bare, shared":      {files: map[string]string{"HEAD": "", "commondir": "x"}, runs: true, hooks: true},
		"merge driver":      {files: map[string]string{".git/config": "[merge \"x\"]\n\tdriver = y %A\n"}, runs: true, hooks: true},
		"submodule update":  {files: map[string]string{".git/config": "[submodule \"x\"]\n\tUpdate = !y\n"}, runs: true, hooks: true},
		"difftool":          {files: map[string]string{".git/config": "[difftool \"x\"] cmd=y\n"}, runs: true, hooks: true},
		"key without value": {files: map[string]string{".git/config": "[difftool \"x\"]\ncmd\n"}, runs: true, hooks: true},
		"branch named so":   {files: map[string]string{".git/config": "[branch \"update-driver\"]\n\tmerge = refs/heads/update-cmd\n"}},
		"HEAD alone":        {files: map[string]string{"HEAD": ""}},
	} {
		dir := t.TempDir()
		for file, text := range row.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for link, to := range row.links {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if got := GitRunsPrograms(dir); got != row.runs {
			t.Errorf("%s: runs programs %v", name, got)
		}
		if got := repositoryOf(dir).hooked(); got != row.hooks {
			t.Errorf("%s: hooks %v", name, got)
		}
	}
	if !GitRunsPrograms("relative") || !GitRunsPrograms("") {
		t.Error("an unknown folder runs nothing")
	}
}

// gitIndex writes an index of these names; those that end in @ are repositories.
func gitIndex(version uint32, names ...string) string {
	b := append([]byte("DIRC"), 0, 0, 0, byte(version), 0, 0, 0, byte(len(names)))
	for _, name := range names {
		name, repo := strings.CutSuffix(name, "@")
		entry := make([]byte, indexFlags+2)
		binary.BigEndian.PutUint32(entry[indexMode:], 0o100644)
		if repo {
			binary.BigEndian.PutUint32(entry[indexMode:], modeGitlink)
		}
		binary.BigEndian.PutUint32(entry[36:], 0xE000) // a size that looks like the mode
		entry[indexFlags+1] = byte(len(name))
		if version == 4 {
			entry = append(append(append(entry, 0), name...), 0)
		} else {
			entry = append(entry, name...)
			entry = append(entry, make([]byte, 8-len(entry)%8)...)
		}
		b = append(b, entry...)
	}
	return string(b) + strings.Repeat("h", 20)
}

func TestRepositoriesInTheIndex(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		runs bool
	}{
		"files": {gitIndex(2, "a", "b/c.go", "1234567"), false}, "none": {gitIndex(2), false}, "version 3": {gitIndex(3, "a"), false}, "version 4": {gitIndex(4, "a", "bcd"), false},
		"repository": {gitIndex(2, "a", "12345678", "sub@"), true}, "version 4 with one": {gitIndex(4, "a", "sub@"), true}, "unknown version": {gitIndex(5, "a"), true},
		"no index": {"x", true}, "cut": {gitIndex(2, "a", "b")[:90], true}, "split": {gitIndex(2, "a")[:76] + "link" + strings.Repeat("h", 30), true}, "too long": {strings.Repeat("D", maxGitIndex+1), true},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".git/config"))
		if err := os.WriteFile(filepath.Join(dir, ".git/index"), []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := GitRunsPrograms(dir); got != row.runs {
			t.Errorf("%s: runs programs %v", name, got)
		}
	}
}

// What git itself writes is read as git writes it.
func TestIndexOfGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git to write an index")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	run("init", "-q", ".")
	for _, name := range []string{"a", "src/b.go", "1234567", "12345678", strings.Repeat("n", 70)} {
		write(t, filepath.Join(dir, name))
	}
	run("add", ".")
	for _, version := range []string{"2", "4"} {
		run("update-index", "--index-version", version)
		if embeds(filepath.Join(dir, ".git/index")) {
			t.Errorf("version %s: files are repositories", version)
		}
	}
	run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	if !embeds(filepath.Join(dir, ".git/index")) {
		t.Error("a repository below is not seen")
	}
}
