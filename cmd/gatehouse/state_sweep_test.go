package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/instance"
)

// What a dead server left is cleaned up once; the list of one that lives stays.
func TestSweepDead(t *testing.T) {
	folder := t.TempDir()
	lists := map[string]bool{}
	for name, live := range map[string]bool{"dead": false, "live": true} {
		i, err := instance.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		list := filepath.Join(i.Dir, instance.Processes)
		if err := os.WriteFile(list, nil, 0o600); err != nil {
			t.Fatal(name, err)
		}
		if lists[list] = live; live {
			defer i.Close()
			continue
		}
		i.Close()
	}
	for range 2 {
		sweepDead(folder, slog.New(slog.DiscardHandler))
		for list, live := range lists {
			if _, err := os.Stat(list); (err == nil) != live {
				t.Errorf("%s of a server that lives: %v, is there: %v", list, live, err == nil)
			}
		}
	}
	sweepDead(filepath.Join(folder, "nothing"), slog.New(slog.DiscardHandler)) // makes nothing
	if _, err := os.Stat(filepath.Join(folder, "nothing")); err == nil {
		t.Error("a state folder was made")
	}
}
