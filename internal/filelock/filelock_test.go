package filelock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary be a process that takes a lock and keeps it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "take" {
		_, err := Take(os.Args[2], time.Hour)
		fmt.Println(err)
		time.Sleep(time.Hour)
	}
	os.Exit(testleak.Run(m))
}

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if Held(path) {
		t.Error("held before anybody took it")
	}
	unlock, err := Take(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path, time.Hour); !errors.Is(err, ErrHeld) {
		t.Errorf("a second time: %v", err)
	}
	if !Held(path) {
		t.Error("not held")
	}
	unlock()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file after it was unlocked: %v", err)
	}
	if Held(path) {
		t.Error("held after it was unlocked")
	}
	if unlock, err = Take(path, time.Hour); err != nil {
		t.Fatal(err)
	}
	unlock()
	if _, err := Take(filepath.Join(t.TempDir(), "none", "lock"), time.Hour); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

// A lock ends with its process, however that ends.
func TestKilledHolder(t *testing.T) {
	if !endsWithProcess {
		t.Skip("here the file is the lock")
	}
	path := filepath.Join(t.TempDir(), "lock")
	holder := exec.Command(os.Args[0], "take", path)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, _ := out.Read(line)
	if string(line[:n]) != "<nil>\n" {
		t.Errorf("the holder says %q", line[:n])
	}
	if _, err := Take(path, 0); !errors.Is(err, ErrHeld) || !Held(path) {
		t.Errorf("while the holder lives: %v, held %v", err, Held(path))
	}
	holder.Process.Kill()
	holder.Wait()
	if Held(path) {
		t.Error("held by nobody")
	}
	unlock, err := Take(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Of many at once one holds the lock, also while it is removed and made again.
func TestContention(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders, taken atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { // ends by itself
			for range 200 {
				unlock, err := Take(path, time.Hour)
				switch {
				case errors.Is(err, ErrHeld):
					continue
				case err != nil:
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				taken.Add(1)
				holders.Add(-1)
				unlock()
			}
		})
	}
	group.Wait()
	if taken.Load() == 0 {
		t.Error("nobody got the lock")
	}
}
