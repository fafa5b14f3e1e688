// Package bundle reads the signed archives in which an organisation hands out
// its policies: OPA's bundle format, a .tar.gz with .rego files, data below cfg,
// a .manifest and a .signatures.json.
//
// [Open] names where a bundle comes from, a file or an https address, and the key
// it must be signed with. [Source.Refresh] gets and verifies it:
//
//	source, err := bundle.Open(bundle.Options{URL: "https://…/team.tar.gz", Key: pem})
//	changed, err := source.Refresh(ctx)
//	for _, b := range source.Candidates() { … policy.Load with b.Modules and b.Data … }
//	source.InForce(b)
//
// [Read] verifies bytes that are there already; [Build] makes and signs a bundle.
// Nothing of a bundle is used, and no Rego of it parsed, before its signature and
// the digest of every file have been verified.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/bundle"
)

// Bounds of a bundle, and the default of the one that can be configured.
const (
	DefaultMaxBytes = 8 << 20  // of the archive, and of all that is unpacked from it
	MaxMaxBytes     = 64 << 20 // the most that may be configured
	maxFiles        = 2000
	maxRevision     = 128     // bytes of a manifest's revision
	maxSerial       = 1 << 53 // what every reader of JSON tells apart
)

// Bundle is a verified bundle. It is not changed once made.
type Bundle struct {
	Revision string            // of its manifest; may be empty
	Digest   string            // SHA-256 of the archive, hexadecimal
	Modules  map[string]string // text by name: "bundle/" and the path inside
	Data     map[string]any    // what lies below cfg
	Serial   int64             // metadata.serial of its manifest; 0: it has none

	raw  []byte
	etag string // the server's, when it came from one
}

// Read verifies the archive raw and reads it. An error says what is wrong with
// which file of it.
func Read(raw []byte, k *Key, maxBytes int64) (*Bundle, error) {
	files, err := unpack(raw, maxBytes)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f entry) bool { return f.name == signatures }) {
		return nil, fmt.Errorf("not signed: %s is missing; sign it with gatehouse policy bundle build", signatures)
	}
	if err := digestsStrong(files); err != nil {
		return nil, err
	}
	read, err := opa.NewCustomReader(&loader{files: files}).WithBundleVerificationConfig(k.config()).
		WithSizeLimitBytes(maxBytes).WithRegoVersion(ast.RegoV2).Read()
	if err != nil {
		return nil, err
	}
	b, err := accept(read)
	if err != nil {
		return nil, err
	}
	b.keep(bytes.Clone(raw))
	return b, nil
}

func (b *Bundle) keep(raw []byte) {
	sum := sha256.Sum256(raw)
	b.raw, b.Digest = raw, hex.EncodeToString(sum[:])
}

// Bytes returns the archive; the caller must not change it.
func (b *Bundle) Bytes() []byte { return b.raw }

// accept takes over what a verified bundle may hold.
func accept(read opa.Bundle) (*Bundle, error) {
	if err := checkManifest(read.Manifest); err != nil {
		return nil, fmt.Errorf(".manifest: %w", err)
	}
	data, err := below(read.Data)
	if err != nil {
		return nil, err
	}
	serial, err := serialOf(read.Manifest.Metadata)
	if err != nil {
		return nil, fmt.Errorf(".manifest: %w", err)
	}
	b := &Bundle{Revision: read.Manifest.Revision, Modules: map[string]string{}, Data: data, Serial: serial}
	for _, m := range read.Modules {
		b.Modules["bundle/"+strings.TrimPrefix(m.Path, "/")] = string(m.Raw)
	}
	if len(b.Modules) == 0 {
		return nil, errors.New("holds no .rego file")
	}
	return b, nil
}

// checkManifest refuses claims to documents that are none of a policy's.
func checkManifest(m opa.Manifest) error {
	if len(m.Revision) > maxRevision || strings.ContainsFunc(m.Revision, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("revision %.40q: want at most %d bytes without control characters", m.Revision, maxRevision)
	}
	if len(m.WasmResolvers) > 0 {
		return errors.New("names Wasm modules, which are not run; build it for the target rego")
	}
	if m.RegoVersion != nil && *m.RegoVersion == 0 || slices.ContainsFunc(versions(m.FileRegoVersions), func(v int) bool { return v == 0 }) {
		return errors.New("rego_version 0: modules are read as Rego version 2; write them so")
	}
	for _, root := range *m.Roots {
		first, _, _ := strings.Cut(strings.Trim(root, "/"), "/")
		if first != "" && first != "gatehouse" && first != "cfg" {
			return fmt.Errorf("root %q: want roots within gatehouse (packages) and cfg (data)", root)
		}
	}
	return nil
}

// serialOf reads the number that says which of two bundles is the later one.
func serialOf(metadata map[string]any) (int64, error) {
	given, there := metadata["serial"]
	if !there {
		return 0, nil
	}
	var n int64
	switch number := given.(type) {
	case json.Number:
		n, _ = number.Int64() // 0 for what is none
	case float64:
		if number == math.Trunc(number) && number <= maxSerial {
			n = int64(number)
		}
	}
	if n < 1 || n > maxSerial {
		return 0, fmt.Errorf("metadata.serial %.40q: want a whole number from 1 to %d", fmt.Sprint(given), int64(maxSerial))
	}
	return n, nil
}

func versions(by map[string]int) []int {
	var all []int
	for _, v := range by {
		all = append(all, v)
	}
	return all
}

// below returns the data at cfg; other data would be there for no policy.
func below(data map[string]any) (map[string]any, error) {
	for name := range data {
		if name != "cfg" {
			return nil, fmt.Errorf("data at %q: want data below cfg only, for example in cfg/data.json", name)
		}
	}
	cfg, ok := data["cfg"].(map[string]any)
	if !ok && data["cfg"] != nil {
		return nil, errors.New("data at cfg: want an object")
	}
	return cfg, nil
}
