package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T) (*Registry, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "processes.jsonl")
	r, err := OpenRegistry(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, path
}

func entry(i int) Entry {
	return Entry{PID: 1000 + i, Start: fmt.Sprint(i), Boot: "b", Group: 1000 + i, Session: "s", Run: fmt.Sprint("r", i)}
}

func TestRegistryTellsWhoLives(t *testing.T) {
	r, path := open(t)
	for i := range 4 {
		if err := r.add(entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	r.remove(entry(1))
	r.remove(entry(9)) // unknown: nothing happens
	got, err := ReadRegistry(path)
	if want := []Entry{entry(0), entry(2), entry(3)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info.Mode(), err)
	}
	if _, err := OpenRegistry(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second registry in the same file: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got, err := ReadRegistry(path); err != nil || len(got) != 3 {
		t.Errorf("after Close: %v, %v", got, err)
	}
	if r.add(entry(5)) == nil {
		t.Error("a closed registry took a process")
	}
}

func TestEmptyRegistryIsRemoved(t *testing.T) {
	r, path := open(t)
	r.add(entry(1))
	r.remove(entry(1))
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ReadRegistry(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read after Close: %v", err)
	}
	var none *Registry
	if none.add(entry(1)) != nil || none.Close() != nil {
		t.Error("a nil registry fails")
	}
	none.remove(entry(1))
}

// The file stays small however many processes come and go, and whoever reads it
// at any time sees all that live.
func TestRegistryIsCompacted(t *testing.T) {
	r, path := open(t)
	for i := range 3 {
		r.add(entry(i))
	}
	for i := 10; i < 3000; i++ {
		if err := r.add(entry(i)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if got, err := ReadRegistry(path); err != nil || len(got) != 4 {
				t.Fatalf("after %d: %v, %v", i, got, err)
			}
		}
		r.remove(entry(i))
	}
	raw, err := os.ReadFile(path)
	if rows := bytes.Count(raw, []byte("\n")); err != nil || rows > spareRows+20 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a half-made file is left: %v", err)
	}
}

func TestReadRegistryOfACrash(t *testing.T) {
	whole := `{"pid":7,"start":"1","boot":"b","pgid":7,"session":"s"}` + "\n"
	other := `{"pid":8,"start":"1","boot":"b","pgid":8,"session":"s"}` + "\n"
	for _, tt := range []struct {
		name, file string
		pids       []int
		damaged    string
	}{
		{"empty", "", nil, ""},
		{"torn", whole + other[:20], []int{7}, ""},
		{"torn end of one", whole + strings.TrimSuffix(other, "\n"), []int{7}, ""},
		{"ended", whole + other + `{"pid":7,"start":"1","boot":"b","pgid":7,"session":"s","ended":true}` + "\n", []int{8}, ""},
		{"twice", whole + whole, []int{7}, ""},
		{"damaged", whole + "nonsense\n" + other, []int{7, 8}, "1 lines are damaged"},
		{"no process", `{"pid":0}` + "\n" + `{"pid":-5}` + "\n" + whole, []int{7}, "2 lines are damaged"},
		{"huge", whole + strings.Repeat(" ", maxRegistry), []int{7}, "longer than"},
	} {
		path := filepath.Join(t.TempDir(), "processes.jsonl")
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		entries, err := ReadRegistry(path)
		var pids []int
		for _, e := range entries {
			pids = append(pids, e.PID)
		}
		if !slices.Equal(pids, tt.pids) || (err != nil) != (tt.damaged != "") || err != nil && !strings.Contains(err.Error(), tt.damaged) {
			t.Errorf("%s: %v, %v; want %v, %q", tt.name, pids, err, tt.pids, tt.damaged)
		}
	}
	if _, err := ReadRegistry(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

// A row that cannot be written is an error and leaves no half row; later, with
// room, the file tells again what is.
func TestRegistryThatCannotBeWritten(t *testing.T) {
	r, path := open(t)
	r.add(entry(1))
	r.add(entry(2))
	r.file.Close() // every write fails from here
	if r.add(entry(3)) == nil {
		t.Fatal("added without a row")
	}
	r.remove(entry(1))
	if !r.stale {
		t.Error("the row of an end is missing, and nobody knows")
	}
	r.file = nil
	if err := r.add(entry(4)); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRegistry(path); err != nil || !slices.Equal(got, []Entry{entry(2), entry(4)}) {
		t.Errorf("read %v, %v", got, err)
	}
}

// What cannot be noted does not run.
func TestStartNeedsItsRow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("starts a shell script")
	}
	r, _ := open(t)
	r.file.Close()
	dir := t.TempDir()
	mark := "unnoted" + filepath.Base(filepath.Dir(dir))
	_, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "sleep 600 & wait"}, Dir: dir, Marker: mark, Registry: r})
	if err == nil || !strings.Contains(err.Error(), "could not be noted") || !strings.Contains(err.Error(), "process registry") {
		t.Fatalf("start: %v", err)
	}
	left, err := (&family{marks: []string{MarkerEnv + "=" + mark}}).now(t)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// now lists who of a family lives.
func (f *family) now(t *testing.T) ([]*proc, error) {
	table, err := system.table(t.Context())
	if err != nil {
		return nil, err
	}
	return f.living(table), nil
}

func TestRowIsWrittenBeforeStartReturns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("starts a shell script")
	}
	r, path := open(t)
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "read -r line"}, Marker: "noted", Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRegistry(path)
	if err != nil || len(got) != 1 || got[0].PID != p.PID() || got[0].Session != "noted" || got[0].Run == "" || got[0].Start == "" || got[0].Boot != bootID() {
		t.Errorf("read %+v, %v", got, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if got, err := ReadRegistry(path); err != nil || len(got) != 0 {
		t.Errorf("after Stop: %+v, %v", got, err)
	}
}
