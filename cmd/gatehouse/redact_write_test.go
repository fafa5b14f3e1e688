//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeOf runs gatehouse redact --write over a file of a folder of its own.
func writeOf(t *testing.T, text string, before func(file string)) (code int, errs, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "app.env")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	before(file)
	var out, stderr bytes.Buffer
	code = run(t.Context(), []string{"redact", "--no-config", "--write", file}, strings.NewReader(""), &out, &stderr, []string{"HOME=" + t.TempDir()})
	return code, stderr.String(), file
}

func TestWriteKeepsModeAndOwner(t *testing.T) {
	const nobody = 65534
	code, errs, file := writeOf(t, "A="+plants["github"](), func(file string) {
		if os.Getuid() == 0 {
			if err := os.Chown(file, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	})
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	if code != redactDone || string(text) != "A=[REDACTED:github]" || info.Mode().Perm() != 0o640 {
		t.Errorf("%d, %s, %q with mode %s", code, errs, text, info.Mode())
	}
	if st := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && (st.Uid != nobody || st.Gid != nobody) {
		t.Errorf("it belongs to %d:%d now", st.Uid, st.Gid)
	}
}

// What a new file would not reach is refused, and nothing is left behind.
func TestWriteRefuses(t *testing.T) {
	secret := "A=" + plants["github"]()
	code, errs, file := writeOf(t, secret, func(file string) {
		if err := os.Link(file, file+".2"); err != nil {
			t.Fatal(err)
		}
	})
	text, _ := os.ReadFile(file)
	if code != redactWrong || string(text) != secret || !strings.Contains(errs, "it has 2 names (hard links)") {
		t.Errorf("%d, %s", code, errs)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	code, errs, _ = writeOf(t, "nothing", func(file string) {
		if err := os.Link(file, file+".2"); err != nil {
			t.Fatal(err)
		}
	})
	if code != redactDone {
		t.Errorf("with nothing to cover: %d, %s", code, errs)
	}
}

func TestWriteSeesChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write := func(text string) os.FileInfo {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	was := write("one")
	if err := replaceable(file, was); err != nil {
		t.Errorf("as it was: %v", err)
	}
	write("longer")
	if err := replaceable(file, was); err != errChanged {
		t.Errorf("another text: %v", err)
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	write("one")
	if err := replaceable(file, was); err != errChanged {
		t.Errorf("another file: %v", err)
	}
	if err := os.Remove(file); err != nil || replaceable(file, was) == nil {
		t.Errorf("no file is taken for the same, %v", err)
	}
}
