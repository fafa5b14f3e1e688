package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// bundleResult is the object of --json.
type bundleResult struct {
	OK       bool     `json:"ok"`
	ExitCode int      `json:"exitCode"`
	File     string   `json:"file"`
	Revision string   `json:"revision"`
	Serial   int64    `json:"serial,omitempty"` // metadata.serial
	SHA256   string   `json:"sha256"`
	Modules  []string `json:"modules"`
	Data     []string `json:"data"` // names below data.cfg
	Next     nextStep `json:"next"`
}

// bundleFlags are those of build and verify.
type bundleFlags struct {
	*policyOptions
	out, key, revision        string
	keyID, algorithm, scopeOf string
}

// policyBundle makes and verifies signed bundles.
func (c *command) policyBundle(ctx context.Context, args []string) int {
	b := &bundleFlags{policyOptions: c.policyFlags("bundle build DIR -o FILE --key PRIVATE | bundle verify FILE --key PUBLIC",
		"Packs and signs the policies of DIR, once they load and their tests pass; or verifies FILE as a server would.")}
	b.flags.Func("data", "build: TOML or JSON `file` to put in as data.cfg; may be repeated", func(path string) error {
		b.data = append(b.data, path)
		return nil
	})
	b.flags.StringVar(&b.out, "o", "", "build: `file` to write")
	b.flags.StringVar(&b.key, "key", "", "`file` of the private key in PEM (verify: the public one), or of the secret of an HS algorithm")
	b.flags.StringVar(&b.revision, "revision", "", "build: `name` of this state of the policies; default: that of DIR/.manifest")
	b.flags.StringVar(&b.keyID, "key-id", "", "`name` of the key; verify: the one that is demanded")
	b.flags.StringVar(&b.algorithm, "algorithm", bundle.DefaultAlgorithm, "`name`: "+strings.Join(bundle.Algorithms, ", "))
	b.flags.StringVar(&b.scopeOf, "scope", "", "`name` of what the bundle is signed for; that of verify must be the same")
	if code, done := b.parse(args); done {
		return code
	}
	if len(b.rest) > 0 && b.rest[0] == "verify" && len(b.data) > 0 {
		return c.failPolicy(b.policyOptions, errors.New("policy bundle: verify takes no --data: a bundle holds its own"))
	}
	if len(b.rest) != 2 || b.key == "" || b.rest[0] != "build" && b.rest[0] != "verify" {
		return c.failPolicy(b.policyOptions, errors.New("policy bundle: want build DIR -o FILE --key PRIVATE, or verify FILE --key PUBLIC"))
	}
	if build := b.rest[0] == "build"; build == (b.out == "") || !build && b.revision != "" {
		return c.failPolicy(b.policyOptions, errors.New("policy bundle: build wants -o FILE; verify takes neither -o nor --revision"))
	}
	if b.rest[0] == "build" {
		return c.buildBundle(ctx, b)
	}
	return c.verifyBundle(ctx, b)
}

func (c *command) buildBundle(ctx context.Context, f *bundleFlags) int {
	if err := c.notNested("policy bundle build"); err != nil {
		return c.failPolicy(f.policyOptions, err)
	}
	key, err := regular.Read(f.key, maxKeyBytes)
	if err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: key: %w", err))
	}
	folder, done, err := bundleFolder(f.rest[1], f.data)
	if err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: nothing was written: %w", err))
	}
	defer done()
	b, err := bundle.Build(folder, bundle.BuildOptions{
		Revision: f.revision, Key: string(key), KeyID: f.keyID, Algorithm: f.algorithm, Scope: f.scopeOf,
	})
	if err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: %w", inFolder(err, folder, f.rest[1])))
	}
	if err := c.tryBundle(ctx, f, b); err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: nothing was written: %w", err))
	}
	if err := writeShared(f.out, b.Bytes()); err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: %w", err))
	}
	next := fmt.Sprintf("gatehouse policy bundle verify %s --key PUBLIC --algorithm %s", f.out, f.algorithm)
	return c.toldBundle(f, b, f.out, "wrote", next)
}

func (c *command) verifyBundle(ctx context.Context, f *bundleFlags) int {
	key, err := regular.Read(f.key, maxKeyBytes)
	if err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: key: %w", err))
	}
	source, err := bundle.Open(bundle.Options{File: f.rest[1], Key: string(key), KeyID: f.keyID, Algorithm: f.algorithm, Scope: f.scopeOf})
	if err == nil {
		_, err = source.Refresh(ctx)
	}
	if err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy %w", err))
	}
	b := source.Candidates()[0]
	if err := c.tryBundle(ctx, f, b); err != nil {
		return c.failPolicy(f.policyOptions, fmt.Errorf("policy bundle: %s is signed, but %w", f.rest[1], err))
	}
	return c.toldBundle(f, b, f.rest[1], "verified", "put it where policy.bundle.url or policy.bundle.file points")
}

// tryBundle loads the policies as the organisation's layer and runs their tests.
func (c *command) tryBundle(ctx context.Context, f *bundleFlags, b *bundle.Bundle) error {
	set, err := policy.Load(ctx, policy.Options{
		Profile: f.profile, Home: author.TestHome(), Logger: slog.New(slog.DiscardHandler),
		OrgModules: b.Modules, OrgData: b.Data, OrgRevision: b.Revision,
	})
	if err != nil {
		return err
	}
	return runTests(ctx, set, f.profile)
}

func (c *command) toldBundle(f *bundleFlags, b *bundle.Bundle, file, done, next string) int {
	out := bundleResult{
		OK: true, File: file, Revision: b.Revision, SHA256: b.Digest, Next: nextStep{Note: next},
		Modules: slices.Sorted(maps.Keys(b.Modules)), Data: append([]string{}, slices.Sorted(maps.Keys(b.Data))...),
	}
	if f.json {
		if err := c.printJSON(out); err != nil {
			return c.fail(policyWrong, err)
		}
		return policyYes
	}
	c.say("%s  %s %s  revision %q, %s, SHA-256 %s", c.mark(true), done, file, b.Revision, plural(len(b.Modules), "module"), b.Digest)
	c.next("%s", next)
	return policyYes
}

// writeShared replaces a file as a whole; a bundle is for everybody to read.
func writeShared(path string, text []byte) error {
	if err := writePrivate(path, string(text)); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o644); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
