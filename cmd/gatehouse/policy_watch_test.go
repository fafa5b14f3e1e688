package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests run again when a file has changed, and the last result is the exit code.
func TestPolicyWatch(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a_test.rego")
	write := func(condition string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("package gatehouse.a_test\n\ntest_a if "+condition+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1 == 2")
	out, in := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // then the program ends, and so does the wait for its lines
	ended := make(chan int, 1)
	go func() { // ends with ctx
		ended <- run(ctx, []string{"policy", "test", "--watch", folder}, strings.NewReader(""), in, io.Discard, nil)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	first := func() string {
		t.Helper()
		var summary string
		for lines.Scan() {
			if text := lines.Text(); summary == "" {
				summary = text
			} else if strings.HasPrefix(text, "next: ") {
				return summary
			}
		}
		t.Fatalf("no result after %q: %v", summary, lines.Err())
		return ""
	}
	if got := first(); got != "FAILED  0 tests passed, 1 failed" {
		t.Errorf("first run: %q", got)
	}
	write("1 == 1")
	if got := first(); got != "ok  1 test passed" {
		t.Errorf("after the change: %q", got)
	}
	write("1 ==")
	write("2 == 3")
	if got := first(); got != "FAILED  0 tests passed, 1 failed" {
		t.Errorf("after another change: %q", got)
	}
	cancel()
	if code := <-ended; code != policyNo {
		t.Errorf("exit code %d, want that of the last run, %d", code, policyNo)
	}
}
