package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// redactOf runs gatehouse redact over a text.
func redactOf(t *testing.T, in io.Reader, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"redact", "--no-config"}, args...), in, &stdout, &stderr, []string{"HOME=" + t.TempDir()})
	return code, stdout.String(), stderr.String()
}

// What cannot be the start of a secret is there before more comes.
func TestRedactStreams(t *testing.T) {
	in, feed := io.Pipe()
	read, out := io.Pipe()
	done := make(chan int, 1)
	go func() { // ends when feed is closed
		done <- run(t.Context(), []string{"redact", "--no-config"}, in, out, io.Discard, nil)
		out.Close()
	}()
	secret := plants["github"]()
	for _, step := range []struct{ in, out string }{
		{"first line\n", "first line\n"},
		{"a key " + secret[:10], "a key "},
		{secret[10:] + "\n", "[REDACTED:github]\n"},
		{"last line\n", "last line\n"},
	} {
		if _, err := io.WriteString(feed, step.in); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(step.out))
		if _, err := io.ReadFull(read, got); err != nil || string(got) != step.out {
			t.Fatalf("after %.9q: got %q, want %q: %v", step.in, got, step.out, err)
		}
	}
	feed.Close()
	if rest, err := io.ReadAll(read); err != nil || len(rest) > 0 {
		t.Errorf("rest %q: %v", rest, err)
	}
	if code := <-done; code != redactDone {
		t.Errorf("exit code %d", code)
	}
}

// An interrupt passes on what was read, covered, and ends at once.
func TestRedactInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	defer feed.Close()
	var out bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"redact", "--no-config"}, in, &out, io.Discard, nil) }() // ends with ctx
	secret := plants["aws"]()
	if _, err := io.WriteString(feed, "see "+secret); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case code := <-done:
		if code != exitInterrupted {
			t.Errorf("exit code %d, want %d", code, exitInterrupted)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still reading")
	}
	if strings.Contains(out.String(), secret[:8]) {
		t.Errorf("printed %q", out.String())
	}
}

func TestRedactBinary(t *testing.T) {
	secret := plants["aws"]()
	text := "\x7fELF\x00\x01 " + secret + " \xff\xfe\n"
	if code, out, _ := redactOf(t, strings.NewReader(text)); code != redactDone || out != text {
		t.Errorf("code %d, changed to %q", code, out)
	}
	code, out, errs := redactOf(t, strings.NewReader(text), "--check")
	if code != redactDone || out != "" || !strings.Contains(errs, "stdin is binary and was not looked at; --as text looks") {
		t.Errorf("code %d, out %q, %q", code, out, errs)
	}
	want := strings.Replace(text, secret, "[REDACTED:aws]", 1)
	if code, out, _ := redactOf(t, strings.NewReader(text), "--as", "text"); code != redactDone || out != want {
		t.Errorf("code %d, got %q, want %q", code, out, want)
	}
}

// Documents without a secret come out as they went in, whatever their form.
func TestRedactKeepsJSON(t *testing.T) {
	for _, text := range []string{
		"", "\n", `{"a" : 1.500,  "b":"\u0041\/"}`, "1 2\n\n3", "\t[ ]\r\n\"x\"null\n  ", "{}\n{}\n", `"é\ud83d\ude00"`,
		`{"deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n",
	} {
		if code, out, errs := redactOf(t, strings.NewReader(text), "--as", "json"); code != redactDone || out != text {
			t.Errorf("%q became %q, code %d, %s", text, out, code, errs)
		}
	}
	for text, line := range map[string]string{"{}\n\n{": "line 3", "nul": "line 1", "{}\n]": "line 2"} {
		code, out, errs := redactOf(t, strings.NewReader(text), "--as", "json")
		if code != redactWrong || strings.HasSuffix(out, text[len(text)-1:]) || !strings.Contains(errs, line) {
			t.Errorf("%q: code %d, printed %q, %s", text, code, out, errs)
		}
	}
}

func TestRedactWrite(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "a.env"), filepath.Join(folder, "link")
	secret := plants["github"]()
	text := "K=" + secret + "\n"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err == nil {
		if code, _, errs := redactOf(t, nil, "--write", link); code != redactWrong || !strings.Contains(errs, "a link; name the file it leads to") {
			t.Errorf("a link: code %d, %s", code, errs)
		}
	}
	if code, _, errs := redactOf(t, nil, "--write", "--as", "json", file); code != redactWrong {
		t.Errorf("no JSON: code %d, %s", code, errs)
	}
	if got, _ := os.ReadFile(file); string(got) != text {
		t.Errorf("changed to %q after an error", got)
	}
	if code, out, errs := redactOf(t, nil, "--write", file); code != redactDone || out != "" {
		t.Errorf("code %d, printed %q, %s", code, out, errs)
	}
	if got, _ := os.ReadFile(file); string(got) != "K=[REDACTED:github]\n" {
		t.Errorf("the file holds %q", got)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if left, _ := os.ReadDir(folder); len(left) > 2 {
		t.Errorf("left behind: %v", left)
	}
}
