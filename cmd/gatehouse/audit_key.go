package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// shownKey is what audit key prints with --json.
type shownKey struct {
	File      string `json:"file"`
	KeyID     string `json:"key_id"`
	PublicKey string `json:"public_key"`
}

// auditKey shows the key that signs checkpoints, or makes a new one.
func (c *command) auditKey(_ context.Context, args []string) int {
	fresh := len(args) > 0 && args[0] == "new"
	name := "key"
	if fresh {
		name, args = "key new", args[1:]
	}
	o := auditFlagSet(name)
	o.flags.BoolVar(&o.json, "json", false, "print one JSON object")
	out := ""
	if fresh {
		o.flags.StringVar(&out, "out", "", "`file` to make; default: [audit] key, then keys/audit.pem where the logs are")
	}
	if err := o.parse(c, args); err != nil {
		return c.failAudit(err)
	}
	path, err := o.keyFile(c, out)
	if err != nil {
		return c.failUsage(err)
	}
	if fresh && filepath.Base(filepath.Dir(path)) == keysName && out == "" {
		err = private.Folder(filepath.Dir(path)) // it is ours to make
	}
	if err != nil {
		return c.failUsage(err)
	}
	shown, err := keyIn(path, fresh)
	if errors.Is(err, fs.ErrNotExist) && !fresh {
		err = fmt.Errorf("audit key: there is no %s; the first start of a server makes the default one, gatehouse audit key new makes any", path)
	}
	if errors.Is(err, fs.ErrExist) && fresh {
		err = fmt.Errorf("audit key: %s: file exists, and is never replaced; --out names another, and [audit] key the one to use", path)
	}
	if err != nil {
		return c.failUsage(err)
	}
	if o.json {
		err = c.printJSON(shown)
	} else {
		_, err = fmt.Fprintf(c.stdout, "file        %s\nkey id      %s\npublic key  %s\n", escapeControl(shown.File), shown.KeyID, shown.PublicKey)
	}
	if err != nil {
		return exitTurnFailed
	}
	return exitOK
}

// keyFile is the file that a flag names, or else the configuration.
func (o *auditFlags) keyFile(c *command, out string) (string, error) {
	if out != "" {
		return filepath.Abs(c.env.expand(out))
	}
	s, err := o.settings(c)
	if err != nil {
		return "", err
	}
	root, err := o.root(c)
	return cmp.Or(s.audit.key, auditKeyIn(root)), err
}

// keysName is the folder of keys beside the logs.
const keysName = "keys"

// auditKeyIn is the key of the logs below root, where no other is named.
func auditKeyIn(root string) string { return filepath.Join(root, keysName, "audit.pem") }

// inputKeyIn is the key of the digests of inputs.
func inputKeyIn(root string) string { return filepath.Join(root, keysName, "input.key") }

func keyIn(path string, fresh bool) (shownKey, error) {
	read := audit.ReadKey
	if fresh {
		read = audit.NewKey
	}
	key, err := read(path)
	if err != nil {
		return shownKey{}, err
	}
	public := audit.PublicKey(key)
	return shownKey{File: path, KeyID: audit.KeyID(public), PublicKey: audit.EncodeKey(public)}, nil
}

// auditCheckpoint prints the newest checkpoint as one line, to be kept elsewhere.
func (c *command) auditCheckpoint(_ context.Context, args []string) int {
	o := auditFlagSet("checkpoint")
	o.flags.StringVar(&o.server, "server", "", "of the server whose `id` begins so")
	o.flags.BoolVar(&o.json, "json", true, "print JSON lines; there is no other form")
	every := o.flags.Bool("all", false, "the newest one of every log, one a line")
	err := o.parse(c, args)
	var root string
	if err == nil {
		root, err = o.root(c)
	}
	if err != nil {
		return c.failAudit(err)
	}
	all, err := audit.Checkpoints(root, o.server)
	if err == nil && !*every && len(all) > 0 {
		var newest audit.ExportedCheckpoint
		newest, err = audit.NewestCheckpoint(root, o.server)
		all = []audit.ExportedCheckpoint{newest}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("audit checkpoint: no log has one yet; a server writes the first within ten seconds")
	}
	if err != nil {
		return c.fail(exitTurnFailed, err)
	}
	for _, one := range all {
		if err := c.printJSON(one); err != nil {
			return exitTurnFailed
		}
	}
	return exitOK
}
