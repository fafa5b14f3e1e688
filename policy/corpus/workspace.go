package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// files are what the calls meet, below the folder given to [Workspace]. None
// holds a real secret.
var files = []string{
	"work/main.go", "work/script.py", "work/build.sh", "work/build.js", "work/Makefile", "work/x", "work/package.json",
	"work/src/a.go", "work/src/b/c.go", "work/docs/guide.md", "work/build/out.o",
	"work/.env", "work/.env.example", "work/server.pem", "work/tls.key", "work/secrets.yaml",
	"work/.claude/settings.json", "work/.claude/commands/x.md", "work/.git/HEAD", "work/.git/config", "work/.git/index",
	"work/lib/a.go", "work/lib/.git/HEAD", "work/lib/.git/config",
	"outside/notes.txt", "home/.ssh/id_rsa", "home/.aws/credentials", "home/.netrc", "home/.npmrc", "home/.kube/config",
	"home/.claude/.credentials.json", "home/.bashrc",
}

var contents = map[string]string{
	"work/main.go":     "package main\n\nfunc main() {}\n",
	"work/.git/HEAD":   "ref: refs/heads/main\n",
	"work/.git/config": "[core]\n\trepositoryformatversion = 0\n",
	"work/.git/index":  "DIRC\x00\x00\x00\x02" + strings.Repeat("\x00", 24), // of no file

	"work/lib/.git/HEAD":   "ref: refs/heads/main\n",
	"work/lib/.git/config": "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = x\n",
}

// Workspace makes the files the calls are about below top, an empty folder: a
// session's root with a git repository and another within, links and a hard link, a home folder and
// a folder outside of both. It returns the resolved root and home.
func Workspace(top string) (root, home string, err error) {
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return "", "", fmt.Errorf("make a workspace: %w", err)
	}
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, dir := range []string{"work/.git/objects", "work/.git/refs/heads", "work/.git/hooks"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			return "", "", fmt.Errorf("make a workspace: %w", err)
		}
	}
	for _, name := range files {
		text, ok := contents[name]
		if !ok {
			text = "x\n"
		}
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			return "", "", fmt.Errorf("make a workspace: %w", err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			return "", "", fmt.Errorf("make a workspace: %w", err)
		}
	}
	if err := links(at); err != nil {
		return "", "", fmt.Errorf("make a workspace: %w", err)
	}
	return at("work"), at("home"), nil
}

func links(at func(string) string) error {
	for name, target := range map[string]string{"work/link": "outside", "work/keys": "home/.ssh", "work/envlink": "work/.env"} {
		if err := os.Symlink(at(target), at(name)); err != nil {
			return err
		}
	}
	return os.Link(at("work/.env"), at("work/hardlink.txt"))
}
