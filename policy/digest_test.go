package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

func TestDigest(t *testing.T) {
	const rule = "package gatehouse.permission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"mine.x\", \"reason\": \"no\"} if input.tool.name == \"X\"\n"
	load := func(o policy.Options, text string) string {
		t.Helper()
		if text != "" {
			file := filepath.Join(t.TempDir(), "mine.rego")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Paths = []string{file}
		}
		s, err := policy.Load(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest()
	}
	first := load(policy.Options{}, rule)
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(first) {
		t.Errorf("digest %q is no SHA-256", first)
	}
	if again := load(policy.Options{}, rule); again != first {
		t.Errorf("the same policies have the digests %s and %s", first, again)
	}
	for name, other := range map[string]string{
		"without the file": load(policy.Options{}, ""),
		"one more comment": load(policy.Options{}, rule+"# more\n"),
		"another profile":  load(policy.Options{Profile: "readonly"}, rule),
		"another default":  load(policy.Options{DefaultEffect: "deny"}, rule),
	} {
		if other == first {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}
