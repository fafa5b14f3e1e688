package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
)

// Digest is the SHA-256, in hexadecimal, of the text of every module in force,
// tests left out, and of [Set.Revision], which stands for data and options. An
// audit log names the policies by it; project policies have digests of their own.
func (s *Set) Digest() string {
	h := sha256.New()
	w := json.NewEncoder(h) // one line each, so that no two texts run into each other
	_ = w.Encode(s.revision)
	for _, l := range s.layers {
		for _, src := range l.sources {
			_ = w.Encode([]string{l.name, filepath.Base(src.name), src.text})
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
