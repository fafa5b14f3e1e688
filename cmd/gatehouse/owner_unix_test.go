//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOwner(t *testing.T) {
	tests := []struct {
		name         string
		file, folder os.FileMode
		wrong        string
	}{
		{"private", 0o600, 0o700, ""},
		{"readable by all", 0o644, 0o755, ""},
		{"group may write", 0o620, 0o700, "others may write to it (mode 0620)"},
		{"all may write", 0o602, 0o700, "others may write to it (mode 0602)"},
		{"folder open to all", 0o600, 0o777, "others may write to it (mode 0777)"},
		{"sticky folder", 0o600, 0o777 | os.ModeSticky, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := files(t, map[string]string{"f": ""})
			path := filepath.Join(folder, "f")
			if err := os.Chmod(path, tt.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(folder, tt.folder); err != nil {
				t.Fatal(err)
			}
			err := checkOwner(path)
			if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("error = %v, want %q", err, tt.wrong)
			}
		})
	}
}

func TestCheckOwnerFollowsLinks(t *testing.T) {
	folder := files(t, map[string]string{"target": ""})
	if err := os.Chmod(filepath.Join(folder, "target"), 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(files(t, nil), "link")
	if err := os.Symlink(filepath.Join(folder, "target"), link); err != nil {
		t.Fatal(err)
	}
	if err := checkOwner(link); err == nil {
		t.Error("a link to a file that others may write passes")
	}
}
