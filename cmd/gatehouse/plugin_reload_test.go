package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/gatehouse-mcp/gatehouse/plugins"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// guestTable is a module in the estate, and its [[plugin]].
func (e *estate) guestTable(name string, wasm []byte) string {
	e.write(name+".wasm", string(wasm))
	return fmt.Sprintf("[[plugin]]\nname = %q\npath = %q\nallow_unpinned = true\ntimeout = \"10s\"\n", name, name+".wasm")
}

// withPlugins opens the policies and plugins of the estate.
func (e *estate) withPlugins() *rollout {
	e.t.Helper()
	r := e.open()
	host, err := openPlugins(e.t.Context(), r.settings, scanRedactor{}, r.policyData, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { host.close(slog.New(slog.DiscardHandler)) })
	r.plugins = host
	return r
}

// overAt is a context that is over as soon as something has come true.
type overAt struct {
	context.Context
	over func() bool
}

func (c overAt) Err() error {
	if c.over() {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// The time of a reload may end just when the plugins were replaced: the policies
// follow all the same.
func TestReloadReplacesPluginsAndPoliciesTogether(t *testing.T) {
	e := newEstate(t)
	config := "policy.paths = [\"policies\"]\n" + e.guestTable("x", testwasm.Deny("pre_permission", "first"))
	e.write("gatehouse.toml", config)
	r := e.withPlugins()
	plugins, policies := r.plugins.Revision(), r.live.Revision()
	e.guestTable("x", testwasm.Deny("pre_permission", "second"))
	e.write("policies/two.rego", strings.ReplaceAll(plainRule, "mine.one", "mine.two"))
	ctx := overAt{t.Context(), func() bool { return r.plugins.Revision() != plugins }}
	_, err := r.replace(ctx, e.read, false)
	if err != nil || r.plugins.Revision() == plugins || r.live.Revision() == policies {
		t.Errorf("plugins replaced: %v, policies replaced: %v, error %v", r.plugins.Revision() != plugins, r.live.Revision() != policies, err)
	}
}

// Another cache needs a restart. Until then sessions may not write to the one in use.
func TestReloadKeepsTheCacheInUse(t *testing.T) {
	e := newEstate(t)
	guest := e.guestTable("x", testwasm.Deny("pre_permission", "no"))
	e.write("gatehouse.toml", "policy.paths = [\"policies\"]\nplugins.cache = \"cache\"\n"+guest)
	r := e.withPlugins()
	e.write("gatehouse.toml", "policy.paths = [\"policies\"]\n"+guest)
	said := e.reload(r)
	if len(said) != 1 || !strings.Contains(said[0].Message, "only a restart heeds it: plugins.cache") {
		t.Errorf("told %+v", said)
	}
	if cache := r.start.plugins.cache; cache == "" || !slices.Contains(r.settings.protected(), cache) {
		t.Errorf("the cache %q is in use, and not among what is protected: %v", cache, r.settings.protected())
	}
}

// A cache that a link brings into a project is in the project.
func TestPluginCacheBehindALink(t *testing.T) {
	folder := files(t, map[string]string{"user.toml": "[plugins]\ncache = \"away/cache\"\n", "org.toml": ""})
	if err := os.Mkdir(filepath.Join(folder, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("project", filepath.Join(folder, "away")); err != nil {
		t.Skip("this system lets nobody make links: ", err)
	}
	env := environment{"HOME=" + folder, "USERPROFILE=" + folder}
	l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = l.check(filepath.Join(folder, "project"), env); err == nil || !strings.Contains(err.Error(), "lie in each other") {
		t.Errorf("error = %v", err)
	}
}

// What the decision log has not written when the server ends is still covered by plugins.
func TestDecisionsAreCoveredToTheEnd(t *testing.T) {
	e := newEstate(t)
	e.write("gatehouse.toml", "policy.paths = [\"policies\"]\ndecision_log.folder = \"decisions\"\n"+
		e.guestTable("x", testwasm.Output("redact", `{"edits":[]}`)))
	r := e.withPlugins()
	s, closeLog := r.settings.keepDecisions(e.logger())
	s.coverDecisions(r.plugins.cover(scanRedactor{}))
	for i := range 200 {
		s.decisions.Record(decisionlog.Entry{ID: fmt.Sprint(i), Result: map[string]any{"reason": "kept"}, Input: func() (json.RawMessage, error) {
			return json.RawMessage(`{"tool":{"name":"Bash"}}`), nil
		}})
	}
	r.plugins.closeAfter(closeLog, e.logger())
	var all strings.Builder
	if err := filepath.WalkDir(s.decisionLog.folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(all.String(), `"kept"`); n != 200 || strings.Contains(all.String(), "redaction plan failed") {
		t.Errorf("%d of 200 were written whole: %.500s", n, all.String())
	}
}

// pluginRun is what plugin run says to documents.
func pluginRun(t *testing.T, wasm []byte, in io.Reader, flags ...string) (code int, out, errs string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.wasm")
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	args := append([]string{"plugin", "run", "--timeout", "10s"}, flags...)
	code = run(t.Context(), append(args, file, "pre_permission"), in, &stdout, &stderr, nil)
	return code, stdout.String(), stderr.String()
}

// endless is spaces without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestPluginRunDocuments(t *testing.T) {
	pass := testwasm.Verdict("pre_permission", testwasm.PassKind, "")
	for _, row := range []struct {
		name string
		in   io.Reader
		code int
		want string
	}{
		{"none", strings.NewReader(""), pluginDone, "pre_permission pass"},
		{"two", strings.NewReader("{} {}"), pluginDone, "pre_permission pass"},
		{"an array", strings.NewReader("{} [1]"), pluginWrong, "document 2: want a JSON object, found an array"},
		{"null", strings.NewReader("null"), pluginWrong, "document 1: want a JSON object, found null"},
		{"half", strings.NewReader(`{"a":`), pluginWrong, "document 1: unexpected EOF"},
		{"too large", io.MultiReader(strings.NewReader("{"), endless{}), pluginWrong, "document 1: over 64 MiB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if code, out, errs := pluginRun(t, pass, row.in); code != row.code || !strings.Contains(out+errs, row.want) {
				t.Errorf("code %d, %s%s; want %d, %q", code, out, errs, row.code, row.want)
			}
		})
	}
}

// One that fails is still called for the next document: that is what is asked for.
func TestPluginRunCallsEachTime(t *testing.T) {
	documents := strings.Repeat("{}\n", plugins.UnhealthyAfter+2)
	code, out, _ := pluginRun(t, testwasm.Hook("pre_permission", []byte{0x00}), strings.NewReader(documents), "--json")
	if n := strings.Count(out, "trapped: unreachable"); code != pluginFailed || n != plugins.UnhealthyAfter+2 {
		t.Errorf("code %d, %d calls: %s", code, n, out)
	}
}

// A plugin may repeat its configuration: reports of check hold no secret of it.
func TestCheckCoversWhatPluginsSay(t *testing.T) {
	secret := plants["aws"]()
	said := pluginOutcome{
		Hook: plugins.PrePermission, OK: true, Verdict: "deny", Reason: "see " + secret, Log: []string{"warn: " + secret},
		Annotations: map[string]json.RawMessage{"key": json.RawMessage(`"` + secret + `"`)}, Micros: 7,
	}
	got := said.covered(t.Context(), scanRedactor{})
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), secret) || got.Micros != 7 || got.Verdict != "deny" || !strings.HasPrefix(got.Reason, "see [REDACTED") {
		t.Errorf("got %s, %v", text, err)
	}
}
