package main

import (
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// publish signs the estate's folder team and puts it where the server looks, whole.
func (e *estate) publish(private, revision, rule string) {
	e.t.Helper()
	e.write("team/rules.rego", strings.ReplaceAll(plainRule, "mine.one", rule))
	b, err := bundle.Build(e.path("team"), bundle.BuildOptions{Revision: revision, Key: private, Algorithm: "EdDSA"})
	if err != nil {
		e.t.Fatal(err)
	}
	e.write("served/new", string(b.Bytes()))
	if err := os.Rename(e.path("served/new"), e.path("served/team.tar.gz")); err != nil {
		e.t.Fatal(err)
	}
}

// await waits for an announcement with these words, so long that only a fault
// ends it without.
func (h *hall) await(t *testing.T, words ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, a := range h.take() {
			missing := false
			for _, w := range words {
				missing = missing || !strings.Contains(a.Message, w)
			}
			if !missing {
				return
			}
		}
	}
	t.Fatalf("nobody was told %q", words)
}

// left lists goroutines of bundles and requests that are still there after a
// moment for those about to end.
func left() string {
	var found []string
	for range 100 {
		found = nil
		buffer := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			if strings.Contains(stack, "policy/bundle.") || strings.Contains(stack, "rollout) ") || strings.Contains(stack, "net/http.(*persistConn)") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return strings.Join(found, "\n\n")
}

func TestFollowABundle(t *testing.T) {
	private, public, err := newPair()
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := newPair()
	if err != nil {
		t.Fatal(err)
	}
	e := newEstate(t)
	e.publish(private, "r1", "org.one")
	server := httptest.NewServer(shop(e.path("served")))
	defer server.Close()
	read := func() (*settings, error) {
		s, err := e.read()
		if err == nil {
			s.bundle = &bundle.Options{URL: server.URL + "/team.tar.gz", Key: public, Algorithm: "EdDSA", Interval: time.Millisecond, CacheDir: e.path("cache")}
		}
		return s, err
	}
	s, err := read()
	if err != nil {
		t.Fatal(err)
	}
	r, err := openRollout(t.Context(), s, e.logger())
	if err != nil {
		t.Fatal(err)
	}
	org := func() string {
		for _, l := range r.live.Set().Layers() {
			if l.Name == "org" {
				return l.Revision
			}
		}
		return "none"
	}
	if org() != "r1" {
		t.Fatalf("at the start revision %s", org())
	}
	stop := r.follow(t.Context(), &e.told, read, nil)
	step := func(want string, words ...string) {
		t.Helper()
		if e.told.await(t, words...); org() != want {
			t.Errorf("after %q revision %s, want %s", words, org(), want)
		}
	}
	e.publish(private, "r2", "org.two")
	step("r2", "policies reloaded")
	e.write("served/down", "")
	step("r2", "answered 500", `revision "r2"`)
	os.Remove(e.path("served/down"))
	step("r2", "newest bundle is in force")
	e.publish(foreign, "r3", "org.three")
	step("r2", "signature", "the last good bundle stays in force")
	// Signed and broken: the user's own change comes into force all the same.
	e.publish(private, "r4", "org.four\", \"colour\": \"red")
	step("r2", "bundle/rules.rego:3", "the last good bundle stays in force")
	e.write("policies/two.rego", strings.ReplaceAll(plainRule, "mine.one", "mine.two"))
	step("r2", "policies reloaded")
	e.publish(private, "r5", "org.five")
	step("r5", "newest bundle is in force")
	stop()
	if stacks := left(); stacks != "" {
		t.Errorf("goroutines are left:\n%s", stacks)
	}
	// A start without the server goes on with the copy.
	server.Close()
	again, err := openRollout(t.Context(), s, e.logger())
	if err != nil {
		t.Fatal(err)
	}
	if r = again; org() != "r5" || !strings.Contains(r.fetching, "last good bundle") {
		t.Errorf("without the server revision %s, told %q", org(), r.fetching)
	}
	os.RemoveAll(e.path("cache"))
	if _, err := openRollout(t.Context(), s, e.logger()); err == nil || !strings.Contains(err.Error(), "policy.bundle: get http") {
		t.Errorf("without server and copy: %v", err)
	}
}

// A bundle whose tests fail comes into force nowhere, signed or not: not at a
// start, and not in the copy that a start without its server falls back to.
func TestAStartRunsTheTestsOfANewBundle(t *testing.T) {
	private, public, err := newPair()
	if err != nil {
		t.Fatal(err)
	}
	e := newEstate(t)
	const passes = "package gatehouse.one_test\n\nimport data.gatehouse.permission\n\ntest_one if \"RULE\" in {d.rule | some d in permission.decisions} with input as {\"tool\": {\"name\": \"Bash\"}}\n"
	publish := func(revision, tested string) {
		e.write("team/rules_test.rego", strings.ReplaceAll(passes, "RULE", tested))
		e.publish(private, revision, "org.one")
	}
	server := httptest.NewServer(shop(e.path("served")))
	defer server.Close()
	s, err := e.read()
	if err != nil {
		t.Fatal(err)
	}
	s.bundle = &bundle.Options{URL: server.URL + "/team.tar.gz", Key: public, Algorithm: "EdDSA", CacheDir: e.path("cache")}
	starts := func(step, want, told string) {
		t.Helper()
		r, err := openRollout(t.Context(), s, e.logger())
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), told) {
				t.Errorf("%s: %v", step, err)
			}
			return
		}
		for _, l := range r.live.Set().Layers() {
			if l.Name == "org" && l.Revision != want {
				t.Errorf("%s: revision %q is in force, want %q", step, l.Revision, want)
			}
		}
		if !strings.Contains(r.loading+r.fetching, told) || told == "" && r.loading+r.fetching != "" {
			t.Errorf("%s: told %q %q, want %q", step, r.loading, r.fetching, told)
		}
	}
	publish("broken", "org.two")
	starts("no good one before", "", "its tests fail: bundle/rules_test.rego:5: test gatehouse.one_test.test_one failed")
	publish("good", "org.one")
	starts("a good one", "good", "")
	publish("broken", "org.two")
	starts("a broken one after it", "good", "the last good bundle stays in force")
	e.write("served/down", "")
	starts("without the server", "good", "answered 500")
	os.Remove(e.path("served/down"))
	publish("better", "org.one")
	starts("and a better one", "better", "")
}

// What the organisation's file names is a layer of its own, with its own data, and
// its bundle cannot be replaced from below.
func TestTheOrganisationStaysApart(t *testing.T) {
	e := newEstate(t)
	e.write("organisation.toml", "policy.paths = [\"org\"]\npolicy.data = [\"org.json\"]\n")
	e.write("org.json", `{"tool": "Read"}`)
	e.write("org/rules.rego", strings.ReplaceAll(strings.ReplaceAll(plainRule, "mine.one", "org.one"), `"Bash"`, "data.cfg.tool"))
	e.write("mine.json", `{"more": true}`)
	e.write("gatehouse.toml", "policy.paths = [\"policies\"]\npolicy.data = [\"mine.json\"]\n")
	r := e.open()
	var names []string
	for _, l := range r.live.Set().Layers() {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "builtin org user" {
		t.Errorf("layers %s", got)
	}
	o, err := r.settings.policyOptions(e.logger())
	if err != nil || len(o.OrgData) != 1 || o.OrgData["tool"] != "Read" || !slices.Equal(o.Org, []string{e.path("org")}) || !slices.Equal(o.Paths, []string{e.path("policies")}) {
		t.Errorf("options %+v, %v", o, err)
	}

	_, public, err := newPair()
	if err != nil {
		t.Fatal(err)
	}
	e.write("team.pub", public)
	e.write("organisation.toml", "[policy.bundle]\nurl = \"https://policies.example/x\"\nkey = \"team.pub\"\nalgorithm = \"EdDSA\"\n")
	if s, err := e.read(); err != nil || s.bundle == nil || s.bundle.URL != "https://policies.example/x" {
		t.Fatalf("the organisation's bundle: %v", err)
	}
	for _, line := range []string{`url = "https://other.example/x"`, `key = "other.pub"`, `algorithm = "HS256"`, `max_bytes = 1`} {
		e.write("gatehouse.toml", "[policy.bundle]\n"+line+"\n")
		if _, err := e.read(); err == nil || !strings.Contains(err.Error(), "gatehouse.toml:2: key \"policy.bundle.") || !strings.Contains(err.Error(), "locked by") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
