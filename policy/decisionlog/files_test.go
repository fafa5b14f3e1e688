package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, folder, name, text string, age time.Duration) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestRotation(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "decisions")
	f, err := openFiles(folder, 4000, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 399) + "\n")
	for range 40 {
		if err := f.write(line); err != nil {
			t.Fatal(err)
		}
	}
	_, total := f.list()
	f.close()
	all := names(t, folder)
	if total > 4000 || len(all) < 3 || strings.HasSuffix(all[0], "-0001.jsonl") {
		t.Errorf("%d bytes in %v", total, all)
	}
	for _, name := range all {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Size() > 1000 || info.Size()%400 != 0 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %04o", name, info.Mode().Perm())
		}
	}
	if info, err := os.Stat(folder); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o700) {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
}

func TestPruning(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "decisions-20200101T000000.000Z-1-0001.jsonl", "old", 48*time.Hour)
	write(t, folder, "decisions-20990101T000000.000Z-1-0001.jsonl", "new", time.Minute)
	write(t, folder, "notes.jsonl", "not ours", 48*time.Hour)
	l := open(t, Options{Folder: folder, MaxAge: 24 * time.Hour})
	l.Record(entry("a", `{}`))
	closeLog(t, l)
	all := strings.Join(names(t, folder), " ")
	if strings.Contains(all, "2020") || !strings.Contains(all, "2099") || !strings.Contains(all, "notes") || len(names(t, folder)) != 3 {
		t.Errorf("left: %s", all)
	}
}

func TestEmptyFileIsRemoved(t *testing.T) {
	l := open(t, Options{})
	closeLog(t, l)
	closeLog(t, l)
	if all := names(t, l.options.Folder); len(all) != 0 {
		t.Errorf("left: %v", all)
	}
}

// A file that was removed under the log is replaced, not written on unseen.
func TestRemovedFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "decisions")
	f, err := openFiles(folder, defaultMaxBytes, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for range 2 {
		if err := f.write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(folder, f.name)); err != nil && runtime.GOOS != "windows" {
			t.Fatal(err)
		}
	}
	if err := f.write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if all := names(t, folder); len(all) != 1 {
		t.Errorf("files %v", all)
	}
}

func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners and modes are not looked at there")
	}
	base := t.TempDir()
	loose, file := filepath.Join(base, "loose"), filepath.Join(base, "file")
	write(t, base, "file", "", 0)
	if err := os.Mkdir(loose, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o770); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{loose, file, link} {
		if l, err := Open(Options{Folder: folder}); err == nil {
			closeLog(t, l)
			t.Errorf("%s was taken", folder)
		}
	}
}

// A log that cannot be written says so once, and takes entries all the same.
func TestUnwritable(t *testing.T) {
	var logged bytes.Buffer
	l := open(t, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	w := l.writer
	closeLog(t, l) // the goroutine is gone: the writer is ours, its folder closed
	for i := range 3 {
		w.add(entry(fmt.Sprint(i), `{}`))
		w.flush()
	}
	if n := strings.Count(logged.String(), "cannot be written"); n != 1 {
		t.Errorf("told %d times: %s", n, &logged)
	}
	if lost := l.lost.Load(); lost != 3 {
		t.Errorf("%d lost", lost)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	l := open(t, Options{})
	hold := make(chan struct{})
	e := entry("a", `{}`)
	e.Mask = func(context.Context, json.RawMessage) ([]MaskOp, error) { <-hold; return nil, nil }
	l.Record(e)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := l.Close(ctx)
	close(hold)
	if err == nil {
		t.Error("Close says that a held entry was written")
	}
}

func TestReadUnreadableLines(t *testing.T) {
	text := strings.Join([]string{
		`{"decision_id":"a","path":"p","labels":{},"timestamp":"2026-01-02T03:04:05Z"}`,
		``, `{"decision_id":`, `[]`, `{"path":"p"}`, `{"decision_id":"b","path":"p"} {}`,
		`{"decision_id":"x","path":"` + strings.Repeat("x", maxReadLine) + `"}`,
		`{"decision_id":"c","path":"p","unknown":1}`,
	}, "\n")
	var ids []string
	unreadable, err := Read(strings.NewReader(text), func(e Event) error { ids = append(ids, e.DecisionID); return nil })
	if err != nil || unreadable != 5 || strings.Join(ids, " ") != "a c" {
		t.Errorf("ids %v, %d unreadable, %v", ids, unreadable, err)
	}
}

// Age is when a file was last written, whatever its server's start says, and
// what a running server writes stays.
func TestPruningForRoom(t *testing.T) {
	folder := t.TempDir()
	text := strings.Repeat("x", 1000)
	mine := fmt.Sprintf("decisions-20200101T000000.000Z-%d-", os.Getpid())
	write(t, folder, "decisions-20200101T000000.000Z-999999999-0001.jsonl", text, time.Minute)
	write(t, folder, "decisions-20250101T000000.000Z-999999999-0001.jsonl", text, 3*time.Hour)
	write(t, folder, mine+"0001.jsonl", text, 5*time.Hour)
	write(t, folder, mine+"0002.jsonl", text, 4*time.Hour)
	f, err := openFiles(folder, 3000, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	f.prune(time.Now())
	all := strings.Join(names(t, folder), " ")
	if !strings.Contains(all, "20200101T000000.000Z-999999999") || strings.Contains(all, "20250101") ||
		strings.Contains(all, mine+"0001") || !strings.Contains(all, mine+"0002") {
		t.Errorf("left: %s", all)
	}
	if f.pruneDue(time.Now().Add(pruneEvery / 2)); len(names(t, folder)) != 3 {
		t.Errorf("pruned before it was due: %v", names(t, folder))
	}
	if f.pruneDue(time.Now().Add(25 * time.Hour)); len(names(t, folder)) != 1 {
		t.Errorf("what became too old while the server ran: %v", names(t, folder))
	}
}
