package engine

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// A resume token lets its holder continue one session after the server has
// forgotten it. It is sealed (AES-256-GCM under a key derived from the owner's
// secret), which signs and hides it: options can hold variables and server
// configurations that no log of a client should show. The comparison of the
// tag takes constant time.

const (
	tokenPrefix = "gh1."
	// tokenBound is the longest token given out or taken, in bytes. Options that
	// need more (a long system prompt) make the session one without a token.
	tokenBound = 64 << 10
	// claimsBound is the longest claims unpacked, in bytes.
	claimsBound = 8 << 20
)

// claims is what a token says.
type claims struct {
	Session string      `json:"session"`
	Cwd     string      `json:"cwd"` // resolved
	Issued  time.Time   `json:"issued"`
	Expires time.Time   `json:"expires"`
	Options StartParams `json:"options"`         // as admitted: the ceiling
	Plans   bool        `json:"plans,omitempty"` // in mode dontAsk: it is in plan mode besides
	Turns   int         `json:"turns"`           // totals when the token was made
	CostUSD float64     `json:"costUsd"`
}

// expiry is when the token ends for a server that grants ttl: lowering it
// shortens the life of tokens that are out already.
func (c claims) expiry(ttl time.Duration) time.Time {
	if now := c.Issued.Add(ttl); now.Before(c.Expires) {
		return now
	}
	return c.Expires
}

// sealer makes and opens tokens.
type sealer struct{ aead cipher.AEAD }

// newSealer derives the key; nil without a secret. Space around the secret is
// dropped, since files and editors add it.
func newSealer(secret Secret) (*sealer, error) {
	text := strings.TrimSpace(string(secret))
	if text == "" {
		return nil, nil
	}
	key, err := hkdf.Key(sha256.New, []byte(text), nil, "gatehouse resume token v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive key of resume tokens: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key of resume tokens: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("key of resume tokens: %w", err)
	}
	return &sealer{aead}, nil
}

var errTokenTooLong = fmt.Errorf("resume token: the session's options need more than %d bytes", tokenBound)

func (s *sealer) seal(c claims) (string, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return "", fmt.Errorf("resume token: %w", err)
	}
	if err := json.NewEncoder(w).Encode(c); err != nil {
		return "", fmt.Errorf("resume token: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("resume token: %w", err)
	}
	sealed := s.aead.Seal(nil, nil, packed.Bytes(), []byte(tokenPrefix))
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(sealed)
	if len(token) > tokenBound {
		return "", errTokenTooLong
	}
	return token, nil
}

var errToken = errors.New("resume token: it was altered, or sealed with another secret")

// open returns the claims of a token this secret sealed. Whether they fit, and
// are still good, is the caller's to judge.
func (s *sealer) open(token string) (claims, error) {
	var c claims
	body, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok || len(token) > tokenBound {
		return c, errToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return c, errToken
	}
	packed, err := s.aead.Open(nil, nil, sealed, []byte(tokenPrefix))
	if err != nil {
		return c, errToken
	}
	plain := flate.NewReader(bytes.NewReader(packed))
	defer plain.Close()
	if err := json.NewDecoder(io.LimitReader(plain, claimsBound)).Decode(&c); err != nil {
		return claims{}, fmt.Errorf("resume token: claims: %w", err)
	}
	return c, nil
}
