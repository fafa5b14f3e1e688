package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/internal/private"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 16 << 10

const pemPrivate, pemPublic = "PRIVATE KEY", "PUBLIC KEY"

// NewKey makes a key and writes it to a new file: PKCS #8 in PEM, 0600.
func NewKey(path string) (ed25519.PrivateKey, error) {
	_, key, _ := ed25519.GenerateKey(rand.Reader) // never fails
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = writeNew(path, pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}))
	}
	if err != nil {
		return nil, fmt.Errorf("audit key %s: %w", path, err)
	}
	return key, nil
}

// ReadKey reads a key file. One that others may read is refused.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	block, err := readPEM(path, true)
	if err != nil {
		return nil, fmt.Errorf("audit key %s: %w", path, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("audit key %s: want an ed25519 key, PKCS #8 in PEM; gatehouse audit key new makes one", path)
	}
	return private, nil
}

// ReadPublicKey reads the public key of a file: PEM of either key, or base64.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	text, err := regular.Read(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return DecodeKey(string(text))
	}
	var key any
	if block.Type == pemPublic {
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	} else {
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	switch k := key.(type) {
	case ed25519.PublicKey:
		return k, nil
	case ed25519.PrivateKey:
		return k.Public().(ed25519.PublicKey), nil
	}
	return nil, fmt.Errorf("public key %s: want an ed25519 key: %w", path, errors.Join(err, errors.ErrUnsupported))
}

// MakeKey reads a key file, and makes it where it is missing. Several servers may
// do so at once.
func MakeKey(path string) (ed25519.PrivateKey, error) {
	key, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := private.Folder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("audit key: %w", err)
	}
	if key, err = NewKey(path); errors.Is(err, fs.ErrExist) {
		return ReadKey(path)
	}
	return key, err
}

// InputKey reads the key for digests of inputs, and makes it where it is missing.
// Logs that share one can be compared input by input.
func InputKey(path string) ([]byte, error) {
	if err := private.Folder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("input key: %w", err)
	}
	key, err := readInputKey(path)
	if !errors.Is(err, fs.ErrNotExist) { // as almost always: nothing is written then
		return key, err
	}
	fresh := make([]byte, inputKeyBytes)
	rand.Read(fresh) // never fails
	if err := writeNew(path, []byte(hex.EncodeToString(fresh)+"\n")); err == nil {
		return fresh, nil
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("input key %s: %w", path, err)
	}
	return readInputKey(path) // another server was quicker
}

const inputKeyBytes = 32

func readInputKey(path string) ([]byte, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("input key %s: %w", path, err)
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) < inputKeyBytes {
		return nil, fmt.Errorf("input key %s: want 64 hexadecimal digits or more; remove it to have another made", path)
	}
	return key, nil
}

func readPEM(path string, secret bool) (*pem.Block, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it holds no PEM block")
	}
	if secret && block.Type != pemPrivate {
		return nil, fmt.Errorf("it holds a %s, want a %s", block.Type, pemPrivate)
	}
	return block, nil
}

// readPrivate reads a file that only this user may read.
func readPrivate(path string) ([]byte, error) {
	text, err := regular.Read(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	return text, checkPrivate(path)
}

// writeNew writes a whole file under a name that is free, or none.
func writeNew(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path) // unlike a rename, it replaces nothing
}
