package bundle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop serves one bundle with an etag, or whatever answer says instead.
type shop struct {
	*httptest.Server

	mu     sync.Mutex
	raw    []byte
	etag   string
	answer http.HandlerFunc
	asked  []string // If-None-Match of each request
}

func newShop(t *testing.T, raw []byte) *shop {
	s := &shop{raw: raw, etag: `"1"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Get("If-None-Match"))
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	w.Header().Set("Etag", s.etag)
	if r.Header.Get("If-None-Match") == s.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(s.raw)
}

func (s *shop) set(change func(*shop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// signer makes bundles of one key.
type signer struct{ private, public string }

func newSigner(t testing.TB) signer {
	private, public := pair(t, "EdDSA")
	return signer{private, public}
}

func (s signer) bundle(t testing.TB, revision string) []byte {
	return built(t, plainFiles, BuildOptions{Revision: revision, Key: s.private, Algorithm: "EdDSA"})
}

func (s signer) open(t testing.TB, url, cache string) *Source {
	t.Helper()
	source, err := Open(Options{URL: url, Key: s.public, Algorithm: "EdDSA", CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func revisions(s *Source) string {
	var all []string
	for _, b := range s.Candidates() {
		all = append(all, b.Revision)
	}
	return strings.Join(all, " ")
}

func TestABundleOverHTTP(t *testing.T) {
	k := newSigner(t)
	store := newShop(t, k.bundle(t, "r1"))
	s := k.open(t, store.URL+"/team.tar.gz?token=s3cr3t", "")
	refresh := func(step string, wantChanged bool, wantError, wantCandidates string) {
		t.Helper()
		changed, err := s.Refresh(t.Context())
		if (err == nil) != (wantError == "") || err != nil && !strings.Contains(err.Error(), wantError) {
			t.Fatalf("%s: error %v, want %q", step, err, wantError)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the error tells the query: %v", step, err)
		}
		if changed != wantChanged || revisions(s) != wantCandidates {
			t.Fatalf("%s: changed %v, candidates %q; want %v, %q", step, changed, revisions(s), wantChanged, wantCandidates)
		}
	}
	refresh("first", true, "", "r1")
	s.InForce(s.Candidates()[0])
	refresh("304", false, "", "r1")
	if store.asked[0] != "" || store.asked[1] != `"1"` {
		t.Errorf("asked with etags %q", store.asked)
	}
	store.set(func(s *shop) { s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) } })
	refresh("500", false, "answered 500", "r1")
	if wait := s.Next(); wait < 2*time.Minute || wait > 132*time.Second {
		t.Errorf("after one failure the next look comes in %s", wait)
	}
	store.set(func(s *shop) { s.answer, s.raw, s.etag = nil, k.bundle(t, "r2"), `"2"` })
	refresh("recovered", true, "", "r2 r1")
	if wait := s.Next(); wait < time.Minute || wait > 66*time.Second {
		t.Errorf("after a good look the next comes in %s", wait)
	}
	store.set(func(s *shop) { s.raw, s.etag = newSigner(t).bundle(t, "r3"), `"3"` })
	refresh("another key", false, "signature", "r2 r1")
	store.set(func(s *shop) { s.raw = edit(t, k.bundle(t, "r3"), changed("gatehouse/rules.rego", rules+"#")) })
	refresh("a changed file", false, "digest mismatch", "r2 r1")
	store.set(func(s *shop) { s.raw = edit(t, k.bundle(t, "r3"), changed(signatures, "")) })
	refresh("no signature", false, "not signed", "r2 r1")
	if last := store.asked[len(store.asked)-1]; last != `"2"` {
		t.Errorf("asked with etag %q, which is not that of the last bundle taken", last)
	}
	store.set(func(s *shop) { s.raw = k.bundle(t, "r2"); s.etag = `"4"` })
	refresh("the same bundle under another etag", false, "", "r2 r1")
}

func TestAnswersThatAreRefused(t *testing.T) {
	k := newSigner(t)
	store := newShop(t, nil)
	other := newShop(t, k.bundle(t, "other"))
	for _, c := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"another host", "another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/x?token=s3cr3t", http.StatusFound)
		}},
		{"round and round", "redirected more than 3 times", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }},
		{"too large", "over max_bytes", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, DefaultMaxBytes+1)) }},
		{"cut off", "broke off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("x"))
		}},
		{"no archive", "no .tar.gz", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>")) }},
		{"empty", "no .tar.gz", func(w http.ResponseWriter, r *http.Request) {}},
		{"nothing new at first", "answered 304", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }},
		{"missing", "answered 404", http.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			store.set(func(s *shop) { s.answer = c.answer })
			s := k.open(t, store.URL, "")
			changed, err := s.Refresh(t.Context())
			if err == nil || changed || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("changed %v, error %v; want %q", changed, err, c.want)
			}
			if len(s.Candidates()) != 0 {
				t.Errorf("candidates %q", revisions(s))
			}
		})
	}
	if len(other.asked) > 0 {
		t.Error("the other host was asked")
	}
}

func TestARedirectOnTheSameHost(t *testing.T) {
	k := newSigner(t)
	shop := newShop(t, k.bundle(t, "r1"))
	shop.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/new" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return
		}
		w.Write(shop.raw)
	}
	s := k.open(t, shop.URL, "")
	if _, err := s.Refresh(t.Context()); err != nil || revisions(s) != "r1" {
		t.Errorf("candidates %q, error %v", revisions(s), err)
	}
}

func TestASlowServerIsGivenUp(t *testing.T) {
	k := newSigner(t)
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-released
	}))
	defer server.Close()
	defer close(released)
	s := k.open(t, server.URL, "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Refresh(ctx); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("error %v", err)
	}
	if s.fetch.client.Timeout != requestTime {
		t.Error("without a deadline of the caller's a request has no bound")
	}
}

func TestAddresses(t *testing.T) {
	k := newSigner(t)
	for _, c := range []struct{ address, want string }{
		{"https://bundles.example/x", ""},
		{"http://127.0.0.1:1/x", ""},
		{"http://[::1]:1/x", ""},
		{"http://localhost/x", ""},
		{"http://bundles.example/x", "want https"},
		{"http://127.0.0.1.example/x", "want https"},
		{"ftp://bundles.example/x", "want https://"},
		{"/etc/bundle", "want https://"},
		{"https://user:hunter2@bundles.example/x", "name or password"},
		{"https://user:hunter2%zz@bundles.example", "not an address"},
	} {
		_, err := Open(Options{URL: c.address, Key: k.public, Algorithm: "EdDSA"})
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", c.address, err, c.want)
		}
	}
	for _, o := range []Options{{}, {File: "a", URL: "https://b/"}, {File: "a", MaxBytes: -1}, {File: "a", MaxBytes: MaxMaxBytes + 1}, {File: "a", Key: "x"}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A server whose certificate nobody vouches for is not asked.
func TestCertificatesAreChecked(t *testing.T) {
	k := newSigner(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	s := k.open(t, server.URL, "")
	if _, err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s.fetch.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	if _, err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("with its certificate: %v", err)
	}
}

func TestTheCopyOfAnEarlierRun(t *testing.T) {
	k := newSigner(t)
	shop := newShop(t, k.bundle(t, "r1"))
	cache := filepath.Join(t.TempDir(), "state", "bundle")
	first := k.open(t, shop.URL, cache)
	if err := first.Recall(); err != nil || len(first.Candidates()) != 0 {
		t.Fatalf("an empty cache: %q, %v", revisions(first), err)
	}
	if _, err := first.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.InForce(first.Candidates()[0]); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(cache, "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
	recall := func(k signer) (*Source, error) {
		s := k.open(t, shop.URL, cache)
		return s, s.Recall()
	}
	s, err := recall(k)
	if err != nil || revisions(s) != "r1" {
		t.Fatalf("recalled %q, %v", revisions(s), err)
	}
	for i, etag := range []string{"", `"1"`} { // whether the copy is the newest, nothing that lies beside it says
		if changed, err := s.Refresh(t.Context()); err != nil || changed != (i == 0) || shop.asked[len(shop.asked)-1] != etag || revisions(s) != "r1" {
			t.Errorf("with a copy, request %d: %v %v %q", i, changed, err, shop.asked)
		}
	}
	if s, err := recall(newSigner(t)); err == nil || len(s.Candidates()) != 0 {
		t.Errorf("a copy signed by another key: %q, %v", revisions(s), err)
	}
	copies, _ := filepath.Glob(filepath.Join(cache, "*.tar.gz"))
	if err := os.WriteFile(copies[0], edit(t, k.bundle(t, "r1"), changed("gatehouse/rules.rego", "package gatehouse.permission\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := recall(k); err == nil || len(s.Candidates()) != 0 {
		t.Errorf("a copy that was changed: %q, %v", revisions(s), err)
	}
	// Another good bundle in the copy's place.
	if err := os.WriteFile(copies[0], k.bundle(t, "r0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = recall(k)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Refresh(t.Context()); err != nil || shop.asked[len(shop.asked)-1] != "" || revisions(s) != "r1 r0" {
		t.Errorf("candidates %q, asked %q, %v", revisions(s), shop.asked, err)
	}
}

func TestABundleFromAFile(t *testing.T) {
	k := newSigner(t)
	path := filepath.Join(t.TempDir(), "team.tar.gz")
	s, err := Open(Options{File: path, Key: k.public, Algorithm: "EdDSA"})
	if err != nil || s.Remote() {
		t.Fatal(err)
	}
	if _, err := s.Refresh(t.Context()); err == nil || len(s.Candidates()) != 0 {
		t.Errorf("no file: %v", err)
	}
	for i, revision := range []string{"r1", "r2"} {
		os.WriteFile(path, k.bundle(t, revision), 0o600)
		changed, err := s.Refresh(t.Context())
		again, err2 := s.Refresh(t.Context())
		if !changed || again || err != nil || err2 != nil || !strings.HasPrefix(revisions(s), revision) {
			t.Errorf("step %d: changed %v %v, %q, %v %v", i, changed, again, revisions(s), err, err2)
		}
		s.InForce(s.Candidates()[0])
	}
	os.WriteFile(path, []byte("x"), 0o600)
	if changed, err := s.Refresh(t.Context()); err == nil || changed || revisions(s) != "r2" {
		t.Errorf("a broken file: %v %v %q", changed, err, revisions(s))
	}
}

func TestBackOffIsBounded(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		failures int
		low      time.Duration
	}{
		{time.Second, 0, time.Second}, {time.Second, 3, 8 * time.Second}, {time.Minute, 2, 4 * time.Minute},
		{time.Minute, 1000, maxBackOff}, {time.Hour, 1000, time.Hour},
	} {
		s := &Source{o: Options{Interval: c.interval}, failures: c.failures}
		if wait := s.Next(); wait < c.low || wait > c.low+c.low/10+1 {
			t.Errorf("%s after %d failures: %s", c.interval, c.failures, wait)
		}
	}
}

// Refreshes at the same time do no harm to each other.
func TestManyRefreshes(t *testing.T) {
	k := newSigner(t)
	shop := newShop(t, k.bundle(t, "r1"))
	s := k.open(t, shop.URL, t.TempDir())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := s.Refresh(t.Context()); err != nil {
				t.Error(err)
				return
			}
			if err := s.InForce(s.Candidates()[0]); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if revisions(s) != "r1" {
		t.Errorf("candidates %q", revisions(s))
	}
}
