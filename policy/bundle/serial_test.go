package bundle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A signed bundle of yesterday does not take the place of today's, wherever it
// comes from.
func TestASerialNeverFalls(t *testing.T) {
	k := newSigner(t)
	numbered := func(serial string) []byte {
		files := maps.Clone(plainFiles)
		if serial != "" {
			files[".manifest"] = `{"revision": "s` + serial + `", "metadata": {"serial": ` + serial + `}}`
		}
		return built(t, files, BuildOptions{Key: k.private, Algorithm: "EdDSA"})
	}
	cache := t.TempDir()
	store := newShop(t, numbered("5"))
	next := 0
	serve := func(raw []byte) {
		next++
		store.set(func(s *shop) { s.raw, s.etag = raw, fmt.Sprintf("%q", fmt.Sprint(next)) })
	}
	s := k.open(t, store.URL, cache)
	for _, step := range []struct {
		serial, refused string
	}{
		{"5", ""}, {"4", "metadata.serial 4 (0: it has none) is below 5"}, {"", "metadata.serial 0"}, {"5", ""}, {"7", ""}, {"6", "is below 7"},
	} {
		serve(numbered(step.serial))
		_, err := s.Refresh(t.Context())
		if (err == nil) != (step.refused == "") || err != nil && !strings.Contains(err.Error(), step.refused) {
			t.Errorf("serial %q: %v, want %q", step.serial, err, step.refused)
		}
		if err := s.InForce(s.Candidates()[0]); err != nil {
			t.Fatal(err)
		}
	}
	later := k.open(t, store.URL, cache)
	if err := later.Recall(); err != nil || revisions(later) != "s7" {
		t.Fatalf("a later run recalls %q, %v", revisions(later), err)
	}
	if _, err := later.Refresh(t.Context()); err == nil || revisions(later) != "s7" {
		t.Errorf("a later run takes %q, %v", revisions(later), err)
	}
	copies, _ := filepath.Glob(filepath.Join(cache, "*.tar.gz"))
	if err := os.WriteFile(copies[0], numbered("6"), 0o600); err != nil {
		t.Fatal(err)
	}
	swapped := k.open(t, store.URL, cache)
	if err := swapped.Recall(); err == nil || !strings.Contains(err.Error(), "is below 7") || revisions(swapped) != "" {
		t.Errorf("an older copy: %q, %v", revisions(swapped), err)
	}
	if _, err := swapped.Refresh(t.Context()); err == nil || revisions(swapped) != "" {
		t.Errorf("and an older bundle: %q, %v", revisions(swapped), err)
	}
	for _, serial := range []string{"0", "-1", "1.5", `"2"`, `"x"`, "1e300", "null", "9007199254740993"} {
		files := maps.Clone(plainFiles)
		files[".manifest"] = `{"metadata": {"serial": ` + serial + `}}`
		if _, err := Build(folder(t, files), BuildOptions{Key: k.private, Algorithm: "EdDSA"}); err == nil {
			t.Errorf("serial %s is taken", serial)
		}
	}
}
