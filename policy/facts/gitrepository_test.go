package facts

import (
	"os"
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
		"no repository":    {},
		"plain":            {files: map[string]string{".git/config": "[core]\n\tbare = false\n"}},
		"pager":            {files: map[string]string{".git/config": "[core]\n\tPager = x\n"}, runs: true, hooks: true},
		"filter":           {files: map[string]string{".git/config": "[filter \"x\"]\n\tclean = y\n"}, runs: true, hooks: true},
		"helper transport": {files: map[string]string{".git/config": "[remote \"o\"]\n\turl = ext::x\n"}, runs: true, hooks: true},
		"escape":           {files: map[string]string{".git/config": "[core]\n\tx = \\\n"}, runs: true, hooks: true},
		"too long":         {files: map[string]string{".git/config": strings.Repeat("#", maxGitConfig+1)}, runs: true, hooks: true},
		"no config":        {files: map[string]string{".git/HEAD": ""}, runs: true, hooks: true},
		"file":             {files: map[string]string{".git": "gitdir: x"}, runs: true, hooks: true},
		"linked config":    {files: map[string]string{".git/HEAD": "", "c": "[core]\n"}, links: map[string]string{".git/config": "../c"}, runs: true, hooks: true},
		"submodules":       {files: map[string]string{".git/config": "", ".git/modules/x": ""}, runs: true, hooks: true},
		"hook":             {files: map[string]string{".git/config": "", ".git/hooks/pre-push": ""}, hooks: true},
		"sample hook":      {files: map[string]string{".git/config": "", ".git/hooks/pre-push.sample": ""}},
		"index hook":       {files: map[string]string{".git/config": "", ".git/hooks/post-index-change": ""}, runs: true, hooks: true},
		"bare":             {files: map[string]string{"HEAD": "", "objects/x": ""}, runs: true, hooks: true},
		"HEAD alone":       {files: map[string]string{"HEAD": ""}},
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
