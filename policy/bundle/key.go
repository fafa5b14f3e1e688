package bundle

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	opa "github.com/open-policy-agent/opa/v1/bundle"
)

// DefaultAlgorithm is that of OPA.
const DefaultAlgorithm = "RS256"

// Algorithms are the ways of signing that are verified.
var Algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
	"ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512",
}

// Weakest keys that are taken.
const (
	minRSABits     = 2048
	minSecretBytes = 32
)

// curves are the bits of the one curve each algorithm is defined for.
var curves = map[string]int{"ES256": 256, "ES384": 384, "ES512": 521}

// Key verifies signatures by one algorithm: which one is never up to the bundle.
type Key struct {
	text, algorithm, id, scope string
}

// NewKey checks a public key in PEM, or a shared secret for the HS algorithms.
// Empty algorithm: RS256. With an id, bundles must name it (the header kid); with
// a scope, they must be signed for it, and without one for none.
func NewKey(text, algorithm, id, scope string) (*Key, error) {
	if algorithm == "" {
		algorithm = DefaultAlgorithm
	}
	if !slices.Contains(Algorithms, algorithm) {
		return nil, fmt.Errorf("algorithm %q: unknown, want one of %s", algorithm, strings.Join(Algorithms, ", "))
	}
	k := &Key{text, algorithm, id, scope}
	if strings.HasPrefix(algorithm, "HS") {
		return k, k.secret()
	}
	return k, k.public()
}

// secret refuses what is no secret: a public key used as one would let everybody
// sign.
func (k *Key) secret() error {
	if strings.Contains(k.text, "-----BEGIN") {
		return fmt.Errorf("holds a key in PEM, and %s wants a shared secret; is the algorithm right?", k.algorithm)
	}
	if len(k.text) < minSecretBytes {
		return fmt.Errorf("holds a secret of %d bytes; want %d random bytes or more", len(k.text), minSecretBytes)
	}
	return nil
}

func (k *Key) public() error {
	block, _ := pem.Decode([]byte(k.text))
	switch {
	case block == nil:
		return errors.New("holds no key in PEM")
	case strings.Contains(block.Type, "PRIVATE"):
		return errors.New("holds a private key; bundles are verified with the public one, and who can read the other can sign")
	}
	key, err := parsePublic(block)
	if err != nil {
		return fmt.Errorf("public key: %w", err)
	}
	return k.fits(key)
}

func parsePublic(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	}
	return nil, fmt.Errorf("PEM type %q: want PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE", block.Type)
}

// fits reports a key of another kind than the algorithm's, or a weak one.
func (k *Key) fits(key any) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if !strings.HasPrefix(k.algorithm, "RS") && !strings.HasPrefix(k.algorithm, "PS") {
			return fmt.Errorf("holds an RSA key, and the algorithm is %s", k.algorithm)
		}
		if bits := key.N.BitLen(); bits < minRSABits {
			return fmt.Errorf("holds an RSA key of %d bits; want %d or more", bits, minRSABits)
		}
	case *ecdsa.PublicKey:
		if bits := key.Curve.Params().BitSize; curves[k.algorithm] != bits {
			return fmt.Errorf("holds an ECDSA key of %d bits, and the algorithm is %s", bits, k.algorithm)
		}
	case ed25519.PublicKey:
		if k.algorithm != "EdDSA" {
			return fmt.Errorf("holds an Ed25519 key, and the algorithm is %s", k.algorithm)
		}
	default:
		return fmt.Errorf("holds a key of kind %T, which is not known", key)
	}
	return nil
}

// onlyKey names the key where the configuration does not.
const onlyKey = "configured"

// config is what OPA verifies with. With an id of ours OPA looks the bundle's own
// up, so that one signed by another key is told as such.
func (k *Key) config() *opa.VerificationConfig {
	id, demanded := k.id, ""
	if id == "" {
		id, demanded = onlyKey, onlyKey
	}
	keys := map[string]*opa.KeyConfig{id: {Key: k.text, Algorithm: k.algorithm, Scope: k.scope}}
	return opa.NewVerificationConfig(keys, demanded, k.scope, nil)
}
