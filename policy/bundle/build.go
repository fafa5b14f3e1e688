package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/bundle"
)

// BuildOptions says how a bundle is made.
type BuildOptions struct {
	Revision  string // of the manifest; empty: that of DIR/.manifest
	Key       string // text of the private key in PEM, or of the secret
	KeyID     string
	Algorithm string // empty: RS256
	Scope     string
	MaxBytes  int64 // 0 = 8 MiB
}

// Build packs the .rego files of dir, its data below cfg (data.json or data.yaml
// in cfg, or with a member cfg at the top) and its .manifest, and signs them. Tests
// go along: they are run where the bundle is rolled out. Links are not followed.
// The result depends on nothing but the files, the options and the signature; that
// its modules compile is for policy.Load to say.
func Build(dir string, o BuildOptions) (*Bundle, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Algorithm == "" {
		o.Algorithm = DefaultAlgorithm
	}
	if strings.HasPrefix(o.Algorithm, "HS") {
		if _, err := NewKey(o.Key, o.Algorithm, o.KeyID, o.Scope); err != nil {
			return nil, fmt.Errorf("key %w", err)
		}
	} else if !strings.Contains(o.Key, "-----BEGIN") {
		return nil, errors.New("key holds no key in PEM")
	}
	b, err := readFolder(dir, o)
	if err != nil {
		return nil, fmt.Errorf("build bundle of %s: %w", dir, err)
	}
	made, err := accept(b)
	if err != nil {
		return nil, fmt.Errorf("build bundle of %s: %w", dir, err)
	}
	if err := sign(&b, o); err != nil {
		return nil, fmt.Errorf("sign bundle: %w", err)
	}
	var out bytes.Buffer
	if err := opa.NewWriter(&out).UseModulePath(true).DisableFormat(true).Write(b); err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	if int64(out.Len()) > o.MaxBytes {
		return nil, fmt.Errorf("build bundle of %s: %d bytes, over %d", dir, out.Len(), o.MaxBytes)
	}
	made.keep(out.Bytes())
	return made, nil
}

func readFolder(dir string, o BuildOptions) (opa.Bundle, error) {
	from := opa.NewDirectoryLoader(filepath.Clean(dir)).WithSizeLimitBytes(o.MaxBytes).WithFilter(hidden)
	b, err := opa.NewCustomReader(from).WithSkipBundleVerification(true).
		WithSizeLimitBytes(o.MaxBytes).WithRegoVersion(ast.RegoV2).Read()
	if err != nil {
		return b, err
	}
	if len(b.WasmModules)+len(b.PlanModules)+len(b.Patch.Data) > 0 {
		return b, errors.New("holds Wasm, plans or a patch; want .rego files and data")
	}
	if o.Revision != "" {
		b.Manifest.Revision = o.Revision
	}
	if len(*b.Manifest.Roots) == 1 && (*b.Manifest.Roots)[0] == "" {
		b.Manifest.Roots = &[]string{"gatehouse", "cfg"}
	}
	b.Manifest.SetRegoVersion(ast.RegoV2)
	return b, nil
}

// hidden leaves out what begins with a dot, but for the manifest.
func hidden(path string, _ os.FileInfo, depth int) bool {
	base := filepath.Base(path)
	return depth > 0 && strings.HasPrefix(base, ".") && base != "." && base != ".." && base != ".manifest"
}

// sign puts the signature in. OPA takes a scope from a file of claims only.
func sign(b *opa.Bundle, o BuildOptions) error {
	claims := ""
	if o.Scope != "" {
		folder, err := os.MkdirTemp("", "gatehouse-sign-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		claims = filepath.Join(folder, "claims.json")
		text, err := json.Marshal(map[string]string{"scope": o.Scope, "keyid": o.KeyID})
		if err != nil {
			return err
		}
		if err := os.WriteFile(claims, text, 0o600); err != nil {
			return err
		}
	}
	// What begins like PEM, and what names no file, is taken as the key itself.
	return b.GenerateSignature(opa.NewSigningConfig(o.Key, o.Algorithm, claims), o.KeyID, true)
}
