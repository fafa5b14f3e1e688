package instance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary be a server that opens its folder and waits.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "server" {
		i, err := Open(os.Args[2])
		if err != nil {
			panic(err)
		}
		fmt.Println(i.ID)
		time.Sleep(time.Hour)
	}
	os.Exit(testleak.Run(m))
}

func ids(all []*Instance) (list []string) {
	for _, i := range all {
		list = append(list, i.ID)
	}
	return list
}

func open(t *testing.T, state string) *Instance {
	t.Helper()
	i, err := Open(state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func TestTwoServers(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if all, err := All(state); err != nil || len(all) != 0 {
		t.Errorf("before the first server: %v, %v", all, err)
	}
	a, b := open(t, state), open(t, state)
	if a.ID == b.ID || !idForm.MatchString(a.ID) || a.Dir != filepath.Join(state, "servers", a.ID) {
		t.Errorf("%+v and %+v", a, b)
	}
	all, err := All(state)
	if err != nil || len(all) != 2 || !all[0].Running() || !all[1].Running() {
		t.Errorf("all: %q, %v", ids(all), err)
	}
	if dead, err := Dead(state); err != nil || len(dead) != 0 {
		t.Errorf("dead: %q, %v", ids(dead), err)
	}
	if err := all[0].Lock(); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("lock of a living server's folder: %v", err)
	}
	a.Close()
	a.Close()
	if _, err := os.Stat(a.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder after its server: %v", err)
	}
	if err := os.WriteFile(filepath.Join(b.Dir, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Close()
	all, err = All(state)
	if err != nil || len(all) != 1 || all[0].ID != b.ID || all[0].Running() {
		t.Errorf("after both: %q, %v", ids(all), err)
	}
}

func TestKilledServer(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	server := exec.Command(os.Args[0], "server", state)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, _ := out.Read(line)
	id := strings.TrimSpace(string(line[:n]))
	own := open(t, state)
	if dead, err := Dead(state); err != nil || len(dead) != 0 {
		t.Errorf("while both live: %q, %v", ids(dead), err)
	}
	server.Process.Kill()
	server.Wait()
	dead, err := Dead(state)
	if err != nil || len(dead) != 1 || dead[0].ID != id {
		t.Fatalf("dead: %q, %v; want %q", ids(dead), err, id)
	}
	if again, _ := Dead(state); len(again) != 0 {
		t.Errorf("a second starter has %q, too", ids(again))
	}
	dead[0].Close()
	if all, _ := All(state); len(all) != 1 || all[0].ID != own.ID {
		t.Errorf("left: %q", ids(all))
	}
}

// Servers that start at once while others clean up each get a folder.
func TestStarters(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { // ends by itself
			for range 20 {
				i, err := Open(state)
				if err != nil {
					t.Error(err)
					return
				}
				if info, err := os.Stat(i.Dir); err != nil || !info.IsDir() {
					t.Errorf("the folder of a living server: %v", err)
				}
				dead, err := Dead(state)
				if err != nil {
					t.Error(err)
				}
				for _, d := range dead {
					if d.ID == i.ID {
						t.Error("a living server was taken for dead")
					}
					d.Close()
				}
				i.Close()
			}
		})
	}
	group.Wait()
	dead, err := Dead(state)
	for _, d := range dead {
		d.Close()
	}
	if all, _ := All(state); err != nil || len(all) != 0 {
		t.Errorf("left: %q, %v", ids(all), err)
	}
}

// What is no server's folder is passed over.
func TestStrangers(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	own := open(t, state)
	folder := filepath.Dir(own.Dir)
	for _, name := range []string{"notes", "20260101T000000Z", "20260101T000000Z-0000000g", ".20260101T000000Z-00000000"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "20260101T000000Z-00000000"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := All(state); err != nil || len(all) != 1 {
		t.Errorf("%q, %v", ids(all), err)
	}
	if dead, err := Dead(state); err != nil || len(dead) != 0 {
		t.Errorf("dead: %q, %v", ids(dead), err)
	}
}
