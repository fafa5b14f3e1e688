package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// put copies a file over another as editors and configuration managers do, by a
// rename; both are below $WORK.
func (c *client) put(rest string) error {
	from, to, _ := strings.Cut(rest, " ")
	work := os.Getenv("WORK")
	text, err := os.ReadFile(filepath.Join(work, from))
	if err != nil {
		return err
	}
	to = filepath.Join(work, to)
	if err := os.WriteFile(to+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

func (c *client) hangup() error { return c.server.Process.Signal(syscall.SIGHUP) }

// until polls the session of $ID until an answer matches. Every answer with events
// is printed: the next poll begins behind them.
func (c *client) until(ctx context.Context, expression string) error {
	match, err := regexp.Compile(expression)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		id := c.vars["ID"]
		raw, _, err := c.send(ctx, "claude_code_check", json.RawMessage(fmt.Sprintf(
			`{"action":"poll","sessionId":%q,"waitMs":500,"responseMode":"full","cursor":%d}`, id, c.cursor[id])))
		if err != nil {
			return err
		}
		r, err := c.note(raw)
		if err != nil {
			return err
		}
		found := match.Match(raw)
		if found || r.NextCursor != nil {
			fmt.Printf("until %s\n", raw)
		}
		if found {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ctx.Err()
}

// newPair makes a key for this run: its private and its public part in PEM.
func newPair() (private, public string, err error) {
	open, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	shown, err := x509.MarshalPKIXPublicKey(open)
	if err != nil {
		return "", "", err
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	return private, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: shown})), nil
}

// cmdKeypair writes NAME.key and NAME.pub: "keypair NAME".
func cmdKeypair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keypair name")
	}
	private, public, err := newPair()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".key"), []byte(private), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), []byte(public), 0o600))
}

// cmdBundles serves the files of DIR with etags until the script ends, and puts
// the address in the place of $BUNDLES in FILE: "bundles DIR FILE". While DIR/down
// is there it answers with an error.
func cmdBundles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundles dir file")
	}
	dir, file := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	server := httptest.NewServer(shop(dir))
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(ts.ReadFile(file), "$BUNDLES", server.URL)), 0o600))
}

// shop serves the files of dir with etags.
func shop(dir string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(r.URL.Path)))
		if _, down := os.Stat(filepath.Join(dir, "down")); err != nil || down == nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		sum := sha256.Sum256(text)
		etag := `"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("Etag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(text)
	}
}
