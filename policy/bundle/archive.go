package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	opa "github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader/filter"
)

// signatures is the one name OPA takes a bundle's signature from.
const signatures = ".signatures.json"

// entry is one file of an archive; name has no leading slash.
type entry struct {
	name string
	text []byte
}

// unpack reads the archive into memory, at most maxBytes in all: OPA's own reader
// bounds each file but not their sum, and passes over what is no regular file.
func unpack(raw []byte, maxBytes int64) ([]entry, error) {
	if int64(len(raw)) > maxBytes {
		return nil, fmt.Errorf("%d bytes, over max_bytes = %d", len(raw), maxBytes)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("no .tar.gz: %w", err)
	}
	bounded := &io.LimitedReader{R: zipped, N: maxBytes + 1}
	archive := tar.NewReader(bounded)
	var files []entry
	left, seen := maxBytes, map[string]bool{} // left: a sparse file holds more than its stream
	for {
		header, err := archive.Next()
		switch {
		case bounded.N <= 0 || err == nil && header.Size > left:
			return nil, fmt.Errorf("unpacks to over max_bytes = %d", maxBytes)
		case err == io.EOF:
			return files, nil
		case err != nil:
			return nil, fmt.Errorf("archive: %w", err)
		case header.Typeflag == tar.TypeDir:
			continue
		case len(files) == maxFiles:
			return nil, fmt.Errorf("more than %d files", maxFiles)
		}
		f, err := admit(header, archive, seen)
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		files, left = append(files, f), left-int64(len(f.text))
	}
}

// admit reads one file, if its name and kind may be in a bundle.
func admit(header *tar.Header, from io.Reader, seen map[string]bool) (entry, error) {
	name := strings.TrimPrefix(header.Name, "/")
	switch {
	case header.Typeflag != tar.TypeReg:
		return entry{}, fmt.Errorf("%q is a link or a special file; want regular files only", header.Name)
	case !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00"):
		return entry{}, fmt.Errorf("%q leaves the archive or is no plain path; want names like gatehouse/rules.rego", header.Name)
	case seen[name]:
		return entry{}, fmt.Errorf("%q is there twice", name)
	}
	seen[name] = true
	if err := known(name); err != nil {
		return entry{}, err
	}
	text, err := io.ReadAll(from)
	return entry{name, text}, err
}

// known refuses the parts of OPA's format that are not used here.
func known(name string) error {
	base := path.Base(name)
	switch {
	case base == "patch.json":
		return errors.New("patch.json makes it a delta bundle, which carries no signature; want a whole one")
	case path.Ext(name) == ".wasm" || base == "plan.json" || base == "plan.pb":
		return fmt.Errorf("%q is compiled policy, which nobody can read; want .rego files", name)
	case strings.HasSuffix(name, ".manifest.pb"):
		return fmt.Errorf("%q: want the manifest as JSON, in .manifest", name)
	case (base == signatures || strings.HasSuffix(name, ".manifest")) && name != signatures && name != ".manifest":
		return fmt.Errorf("%q: want it at the top of the archive only", name)
	}
	return nil
}

// digestsStrong refuses a signature over digests that collide. It decodes what is
// not verified yet, and trusts nothing in it: OPA verifies the same bytes.
func digestsStrong(files []entry) error {
	for _, f := range files {
		if f.name != signatures {
			continue
		}
		var config opa.SignaturesConfig
		if err := json.Unmarshal(f.text, &config); err != nil {
			return fmt.Errorf("%s: %w", signatures, err)
		}
		for _, token := range config.Signatures {
			if err := tokenStrong(token); err != nil {
				return fmt.Errorf("%s: %w", signatures, err)
			}
		}
	}
	return nil
}

func tokenStrong(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("no signed token")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	var signed opa.DecodedSignature
	if err := json.Unmarshal(payload, &signed); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	for _, f := range signed.Files {
		switch opa.HashingAlgorithm(f.Algorithm) {
		case opa.SHA256, opa.SHA384, opa.SHA512, opa.SHA512256:
		default:
			return fmt.Errorf("file %q is signed by its %q digest; want SHA-256, SHA-384 or SHA-512", f.Name, f.Algorithm)
		}
	}
	return nil
}

// loader hands unpacked files to OPA.
type loader struct {
	files []entry
	next  int
}

var _ opa.DirectoryLoader = (*loader)(nil)

// NextFile returns io.EOF after the last file.
func (l *loader) NextFile() (*opa.Descriptor, error) {
	if l.next >= len(l.files) {
		return nil, io.EOF
	}
	f := l.files[l.next]
	l.next++
	return opa.NewDescriptor(f.name, f.name, bytes.NewBuffer(f.text)), nil
}

// The others change nothing: all is read, by name, and bounded already.

func (l *loader) WithFilter(filter.LoaderFilter) opa.DirectoryLoader { return l }
func (l *loader) WithPathFormat(opa.PathFormat) opa.DirectoryLoader  { return l }
func (l *loader) WithSizeLimitBytes(int64) opa.DirectoryLoader       { return l }
func (l *loader) WithFollowSymlinks(bool) opa.DirectoryLoader        { return l }
