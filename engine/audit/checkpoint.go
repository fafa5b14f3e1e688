package audit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Signature is who signed a text. Empty: nobody did.
type Signature struct {
	KeyID     string `json:"key_id,omitempty"`     // the first 16 digits of the SHA-256 of the key
	PublicKey string `json:"public_key,omitempty"` // ed25519, base64
	Value     string `json:"signature,omitempty"`  // ed25519, base64
}

// Covered is a place in a log that somebody vouches for.
type Covered struct {
	Seq  int64     `json:"seq"`
	Hash string    `json:"h"` // of the record with this number
	Time time.Time `json:"time"`
}

// signedCheckpoint is the detail of a checkpoint.
type signedCheckpoint struct {
	Covered
	Signature
}

// ExportedCheckpoint is a checkpoint to be kept elsewhere. RecordHash is that of
// the checkpoint's own record, the one after Seq.
type ExportedCheckpoint struct {
	Boot string `json:"boot"`
	Covered
	RecordHash string `json:"record_h,omitempty"`
	Signature
}

func (c ExportedCheckpoint) signed() signedCheckpoint {
	return signedCheckpoint{c.Covered, c.Signature}
}

// text is what is signed.
func (c ExportedCheckpoint) text() []byte {
	return fmt.Appendf(nil, "gatehouse-audit-checkpoint-1\n%s\n%d\n%s\n%s\n", c.Boot, c.Seq, c.Hash, c.Time.UTC().Format(time.RFC3339Nano))
}

func sign(key ed25519.PrivateKey, boot string, seq int64, hash string, now time.Time) ExportedCheckpoint {
	c := ExportedCheckpoint{Boot: boot, Covered: Covered{Seq: seq, Hash: hash, Time: now.UTC()}}
	c.Signature = signText(key, c.text())
	return c
}

func signText(key ed25519.PrivateKey, text []byte) Signature {
	if key == nil {
		return Signature{}
	}
	public := key.Public().(ed25519.PublicKey)
	return Signature{KeyID: KeyID(public), PublicKey: EncodeKey(public), Value: base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))}
}

// KeyID names a public key.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// EncodeKey writes a public key as [DecodeKey] reads it.
func EncodeKey(public ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(public) }

// DecodeKey reads a public key in base64.
func DecodeKey(text string) (ed25519.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("public key %q: want the base64 of 32 bytes", cut(text, 80))
	}
	return raw, nil
}

// ParseCheckpoint reads the line that [ExportedCheckpoint] is written as.
func ParseCheckpoint(line []byte) (c ExportedCheckpoint, err error) {
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	if !bootForm.MatchString(c.Boot) || c.Seq < 0 || !isHash(c.Hash) || c.RecordHash != "" && !isHash(c.RecordHash) {
		return c, errors.New("checkpoint: want an object with boot, seq and h, as gatehouse audit checkpoint prints it")
	}
	return c, nil
}

func isHash(s string) bool {
	return len(s) == len(zeroHash) && strings.Trim(s, "0123456789abcdef") == ""
}

// keyring says whose signatures count.
type keyring struct {
	given []ed25519.PublicKey // empty: the key that is named beside the first signature
	used  string              // id of that
}

// check returns what is wrong with a signature: the kind of a [Problem], and why.
func (k *keyring) check(s Signature, text []byte) (kind, why string) {
	if s.Value == "" {
		switch {
		case len(k.given) > 0:
			return BadSignature, "it is not signed, and a public key was given"
		case k.used != "":
			return BadSignature, "it is not signed, and those before are, by key " + k.used
		}
		return "", ""
	}
	public, err := DecodeKey(s.PublicKey)
	if err != nil {
		return BadSignature, err.Error()
	}
	id := KeyID(public)
	if len(k.given) > 0 && !k.holds(public) {
		return WrongKey, fmt.Sprintf("it is signed by key %s, which is not the one that was given", id)
	}
	if len(k.given) == 0 && k.used != "" && k.used != id {
		return WrongKey, fmt.Sprintf("it is signed by key %s, those before by %s", id, k.used)
	}
	value, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil || s.KeyID != id || !ed25519.Verify(public, text, value) {
		return BadSignature, "the signature does not fit"
	}
	k.used = id
	return "", ""
}

func (k *keyring) holds(public ed25519.PublicKey) bool {
	for _, g := range k.given {
		if g.Equal(public) {
			return true
		}
	}
	return false
}

// PublicKey is the public key of a key.
func PublicKey(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }
