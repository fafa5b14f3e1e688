package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ruleHome is a home folder; its command runs gatehouse policy there.
type ruleHome struct {
	t      *testing.T
	folder string
}

func (h ruleHome) run(args ...string) (int, string) {
	h.t.Helper()
	var out bytes.Buffer
	code := run(h.t.Context(), append([]string{"policy"}, args...), strings.NewReader(""), &out, &out, []string{"HOME=" + h.folder, "XDG_CONFIG_HOME=" + h.folder})
	return code, out.String()
}

func (h ruleHome) rows() []dailyRow {
	h.t.Helper()
	f, err := readDaily(filepath.Join(h.folder, "gatehouse", "policies", "rules.toml"))
	if err != nil {
		h.t.Fatal(err)
	}
	return f.rows
}

// Commands that write at once lose nothing of each other.
func TestWritersDoNotLoseRows(t *testing.T) {
	h := ruleHome{t, t.TempDir()}
	if code, out := h.run("deny", "--yes", "--write-config", "first *"); code != policyYes {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	const writers = 4
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			if code, out := h.run("deny", "--yes", "--write-config", "program"+strconv.Itoa(n)+" *"); code != policyYes {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
	all.Wait()
	if rows := h.rows(); len(rows) != writers+1 {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	if code, out := h.run("test"); code != policyYes {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A row that came in while somebody was asked is kept.
func TestRowsAreAddedToWhatIsThereByThen(t *testing.T) {
	h := ruleHome{t, t.TempDir()}
	c := &command{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, env: []string{"HOME=" + h.folder, "XDG_CONFIG_HOME=" + h.folder}}
	o := c.rowFlags("allow", "allow", "")
	o.yes, o.writeConfig = true, true
	plan, err := c.planRows(t.Context(), o, []dailyRow{{Effect: "allow", Tool: "Bash", Pattern: "make *"}})
	if err != nil {
		t.Fatal(err)
	}
	if code, out := h.run("deny", "--yes", "--write-config", "terraform *"); code != policyYes {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if err := c.writeRows(t.Context(), o, plan); err != nil {
		t.Fatal(err)
	}
	if rows := h.rows(); len(rows) != 2 || rows[0].Effect != "deny" || rows[1].Effect != "allow" {
		t.Errorf("rows %v", rows)
	}
	text, err := os.ReadFile(filepath.Join(h.folder, "gatehouse", "gatehouse.toml"))
	if err != nil || strings.Count(string(text), "rules.toml") != 1 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestLockWaitsAndEnds(t *testing.T) {
	p := dailyPlace{folder: filepath.Join(t.TempDir(), "policies")}
	unlock, err := p.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.lock(ctx); err == nil {
		t.Error("two hold the lock")
	}
	unlock()
	again, err := p.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// A signal ends a question at once, whoever keeps stdin open.
func TestQuestionEndsWithTheSignal(t *testing.T) {
	stdin, keep := io.Pipe()
	defer keep.Close()
	c := &command{stdin: stdin, stdout: io.Discard, stderr: io.Discard}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.question(ctx) }() // ends with ctx
	cancel()
	select {
	case err := <-ended:
		if err != context.Canceled {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the question is still open")
	}
}

func TestImportAboveTheBound(t *testing.T) {
	h := ruleHome{t, t.TempDir()}
	var rules []string
	for n := range maxDailyRows + 1 {
		rules = append(rules, `"Bash(x`+strconv.Itoa(n)+`)"`)
	}
	path := filepath.Join(h.folder, "settings.json")
	if err := os.WriteFile(path, []byte(`{"permissions": {"allow": [`+strings.Join(rules, ",")+`]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := h.run("import", "claude", "--yes", path)
	if code != policyWrong || !strings.Contains(out, "with 501 more that is above the 500") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A deny that the module in force does not heed is not written.
func TestDenyThatDoesNotHoldIsRefused(t *testing.T) {
	h := ruleHome{t, t.TempDir()}
	if code, out := h.run("deny", "--yes", "--write-config", "first *"); code != policyYes {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	module := filepath.Join(h.folder, "gatehouse", "policies", "daily.rego")
	own := "package gatehouse.permission\n\ndecisions contains {\"effect\": \"ask\", \"rule\": \"own.all\", \"reason\": \"mine\"} if data.cfg.daily_version == 1\n"
	if err := os.WriteFile(module, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := h.run("deny", "--yes", "terraform *")
	if code != policyWrong || !strings.Contains(out, "it does not hold: its own example, Bash terraform, stays ask:") || len(h.rows()) != 1 {
		t.Errorf("exit code %d, %d rows\n%s", code, len(h.rows()), out)
	}
	settings := filepath.Join(h.folder, "settings.json")
	if err := os.WriteFile(settings, []byte(`{"permissions": {"deny": ["Bash(terraform *)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out = h.run("import", "claude", "--yes", settings)
	if code != policyNo || !strings.Contains(out, "left out: deny Bash(terraform *): it does not hold") || !strings.Contains(out, "nothing was written") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
