package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/bundle"
)

// pair makes a key for algorithm: the private and the public part in PEM, or one
// secret.
func pair(t testing.TB, algorithm string) (private, public string) {
	t.Helper()
	var key, open any
	switch algorithm[:2] {
	case "HS":
		secret := strings.Repeat("0123456789abcdef", 3)
		return secret, secret
	case "RS", "PS":
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		key, open = k, k.Public()
	case "ES":
		curve := map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}[algorithm]
		k, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, open = k, k.Public()
	default:
		pub, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, open = k, pub
	}
	return block(t, "PRIVATE KEY", key, x509.MarshalPKCS8PrivateKey), block(t, "PUBLIC KEY", open, x509.MarshalPKIXPublicKey)
}

func block(t testing.TB, kind string, key any, encode func(any) ([]byte, error)) string {
	t.Helper()
	raw, err := encode(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

const rules = `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "org.no", "reason": "no"} if input.tool.name == data.cfg.tool
`

// folder writes files and returns where.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var plainFiles = map[string]string{
	"gatehouse/rules.rego": rules, "cfg/data.json": `{"tool": "Bash", "n": 12345678901234567890}`,
	".git/x.rego": "not rego at all", "README.md": "left out",
}

func built(t testing.TB, files map[string]string, o BuildOptions) []byte {
	t.Helper()
	b, err := Build(folder(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func key(t testing.TB, text, algorithm, id, scope string) *Key {
	t.Helper()
	k, err := NewKey(text, algorithm, id, scope)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestEveryAlgorithmSignsAndVerifies(t *testing.T) {
	for _, algorithm := range Algorithms {
		t.Run(algorithm, func(t *testing.T) {
			private, public := pair(t, algorithm)
			raw := built(t, plainFiles, BuildOptions{Revision: "r7", Key: private, Algorithm: algorithm, KeyID: "team", Scope: "agents"})
			b, err := Read(raw, key(t, public, algorithm, "team", "agents"), DefaultMaxBytes)
			if err != nil {
				t.Fatal(err)
			}
			if b.Revision != "r7" || b.Modules["bundle/gatehouse/rules.rego"] != rules || len(b.Modules) != 1 || b.Data["tool"] != "Bash" || len(b.Digest) != 64 {
				t.Errorf("read %+v", b)
			}
			_, other := pair(t, algorithm)
			if algorithm[:2] == "HS" {
				other += "x"
			}
			if _, err := Read(raw, key(t, other, algorithm, "team", "agents"), DefaultMaxBytes); err == nil || !strings.Contains(err.Error(), "signature") {
				t.Errorf("another key: %v", err)
			}
		})
	}
}

// edit returns the archive with each file passed through change; nil leaves it
// out. more are put at its end.
func edit(t testing.TB, raw []byte, change func(name string, text []byte) []byte, more ...tar.Header) []byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(zipped)
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			if text = change(strings.TrimPrefix(h.Name, "/"), text); text == nil {
				continue
			}
		}
		h.Size = int64(len(text))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write(text)
	}
	for _, h := range more {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write(bytes.Repeat([]byte("\n"), int(h.Size)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func changed(name string, text string) func(string, []byte) []byte {
	return func(n string, old []byte) []byte {
		if n != name {
			return old
		}
		if text == "" {
			return nil
		}
		return []byte(text)
	}
}

func file(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: 1}
}

func TestWhatIsRefused(t *testing.T) {
	private, public := pair(t, "ES256")
	o := BuildOptions{Key: private, Algorithm: "ES256", KeyID: "team"}
	good := built(t, plainFiles, o)
	scoped := built(t, plainFiles, BuildOptions{Key: private, Algorithm: "ES256", KeyID: "team", Scope: "agents"})
	k := key(t, public, "ES256", "team", "")
	if _, err := Read(good, k, DefaultMaxBytes); err != nil {
		t.Fatalf("the bundle itself: %v", err)
	}
	type refused struct {
		name string
		raw  []byte
		key  *Key
		want string
	}
	cases := []refused{
		{"no archive", []byte("hello"), k, "no .tar.gz"},
		{"cut off", good[:len(good)/2], k, "archive: unexpected EOF"},
		{"no signature", edit(t, good, changed(signatures, "")), k, "not signed"},
		{"empty signature", edit(t, good, changed(signatures, "{}")), k, "missing .signatures.json"},
		{"no token", edit(t, good, changed(signatures, `{"signatures": []}`)), k, "missing JWT"},
		{"broken token", edit(t, good, changed(signatures, `{"signatures": ["a.b"]}`)), k, "no signed token"},
		{"changed module", edit(t, good, changed("gatehouse/rules.rego", rules+"\n")), k, "digest mismatch"},
		{"changed data", edit(t, good, changed("data.json", `{"cfg": {"tool": "Read"}}`)), k, "digest mismatch"},
		{"changed manifest", edit(t, good, changed(".manifest", `{"revision": "x", "roots": ["gatehouse", "cfg"], "rego_version": 2}`)), k, "digest mismatch"},
		{"missing file", edit(t, good, changed("gatehouse/rules.rego", "")), k, "not found in the target bundle"},
		{"unsigned file", edit(t, good, nil, file("/more.rego")), k, "not included in bundle signature"},
		{"another key id", good, key(t, public, "ES256", "other", ""), "key corresponding to ID team not found"},
		{"scope not demanded", scoped, k, "scope mismatch"},
		{"scope missing", good, key(t, public, "ES256", "team", "agents"), "scope mismatch"},
		{"dot dot", edit(t, good, nil, file("/../../etc/x.rego")), k, "leaves the archive"},
		{"backslash", edit(t, good, nil, file(`/..\x.rego`)), k, "leaves the archive"},
		{"twice", edit(t, good, nil, file("gatehouse/rules.rego")), k, "twice"},
		{"link", edit(t, good, nil, tar.Header{Name: "l.rego", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), k, "link or a special file"},
		{"second signature", edit(t, good, nil, file("/a/.signatures.json")), k, "at the top"},
		{"wasm", edit(t, good, nil, file("/policy.wasm")), k, "compiled policy"},
		{"plan", edit(t, good, nil, file("/plan.json")), k, "compiled policy"},
		{"delta", edit(t, good, nil, file("/patch.json")), k, "delta bundle"},
		{"other manifest", edit(t, good, nil, file("/.manifest.pb")), k, "as JSON"},
		{"bomb", edit(t, good, nil, tar.Header{Name: "/big.rego", Typeflag: tar.TypeReg, Size: DefaultMaxBytes}), k, "unpacks to over max_bytes"},
	}
	weak, err := opa.GenerateSignedToken([]opa.FileInfo{{Name: "gatehouse/rules.rego", Hash: "00", Algorithm: "MD5"}}, opa.NewSigningConfig(private, "ES256", ""), "team")
	if err != nil {
		t.Fatal(err)
	}
	cases = append(cases, refused{"weak digest", edit(t, good, changed(signatures, `{"signatures": ["`+weak+`"]}`)), k, `"MD5" digest`})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if b, err := Read(c.raw, c.key, DefaultMaxBytes); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read %+v, %v; want an error with %q", b, err, c.want)
			}
		})
	}
	if _, err := Read(good, k, int64(len(good)-1)); err == nil || !strings.Contains(err.Error(), "over max_bytes") {
		t.Errorf("a bundle over the bound: %v", err)
	}
}

func TestWhatAFolderMayHold(t *testing.T) {
	private, public := pair(t, "EdDSA")
	o := BuildOptions{Key: private, Algorithm: "EdDSA"}
	for _, c := range []struct {
		name, want string
		files      map[string]string
	}{
		{"nothing", "no .rego file", map[string]string{"README": "x"}},
		{"broken", "rules.rego:2", map[string]string{"rules.rego": "package gatehouse.permission\nx =="}},
		{"other data", `data at "other"`, map[string]string{"data.json": `{"other": 1}`}},
		{"data no object", "want an object", map[string]string{"data.json": `{"cfg": [1]}`}},
		{"root outside", `root "system"`, map[string]string{"x.rego": rules, ".manifest": `{"roots": ["system", "gatehouse"]}`}},
		{"module outside its roots", "do not permit", map[string]string{"x.rego": rules, ".manifest": `{"roots": ["cfg"]}`}},
		{"long revision", "at most 128 bytes", map[string]string{"x.rego": rules, ".manifest": `{"revision": "` + strings.Repeat("r", 129) + `"}`}},
		{"wasm", "holds Wasm", map[string]string{"x.rego": rules, "policy.wasm": "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Build(folder(t, c.files), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	raw := built(t, map[string]string{"x.rego": rules, "x_test.rego": "package gatehouse.x_test\n\ntest_one if true\n", ".manifest": `{"revision": "m1"}`}, o)
	b, err := Read(raw, key(t, public, "EdDSA", "", ""), DefaultMaxBytes)
	if err != nil || b.Revision != "m1" || len(b.Modules) != 2 {
		t.Errorf("read %+v, %v", b, err)
	}
	if again := built(t, map[string]string{"x.rego": rules, "x_test.rego": "package gatehouse.x_test\n\ntest_one if true\n", ".manifest": `{"revision": "m1"}`}, o); !bytes.Equal(raw, again) {
		t.Error("the same files make another bundle")
	}
}

func TestKeys(t *testing.T) {
	rsaPrivate, rsaPublic := pair(t, "RS256")
	_, ecPublic := pair(t, "ES384")
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, algorithm, want string }{
		{"private", rsaPrivate, "RS256", "private key"},
		{"no PEM", "x", "RS256", "no key in PEM"},
		{"unknown algorithm", rsaPublic, "none", "unknown"},
		{"a public key as secret", rsaPublic, "HS256", "is the algorithm right"},
		{"short secret", "abc", "HS256", "32 random bytes"},
		{"RSA for ECDSA", rsaPublic, "ES256", "RSA key"},
		{"wrong curve", ecPublic, "ES256", "384 bits"},
		{"ECDSA for EdDSA", ecPublic, "EdDSA", "ECDSA key"},
		{"weak", block(t, "PUBLIC KEY", weak.Public(), x509.MarshalPKIXPublicKey), "RS256", "1024 bits"},
	} {
		if _, err := NewKey(c.text, c.algorithm, "", ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
