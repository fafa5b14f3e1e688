package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// maxCheckpoints bounds a file of checkpoints, in bytes.
const maxCheckpoints = 4 << 20

// auditVerify says whether the logs are as they were written.
func (c *command) auditVerify(_ context.Context, args []string) int {
	o, against := auditFlagSet("verify"), audit.VerifyOptions{}
	o.flags.StringVar(&against.Server, "server", "", "only the log of the server whose `id` begins so")
	o.flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.flags.Func("public-key", "`key` that all checkpoints must be signed by: base64, or a file with it or with a PEM; may be repeated", func(text string) error {
		key, err := publicKey(text)
		against.Keys = append(against.Keys, key)
		return err
	})
	o.flags.Func("checkpoint", "`line` that gatehouse audit checkpoint printed, or a file with such lines; may be repeated", func(text string) (err error) {
		all, err := checkpoints(text)
		against.Checkpoints = append(against.Checkpoints, all...)
		return err
	})
	err := o.parse(c, args)
	var root string
	if err == nil {
		root, err = o.root(c)
	}
	if err != nil {
		return c.failAudit(err)
	}
	report, err := audit.Verify(root, against)
	nothing := len(report.Logs)+len(report.Lost) == 0
	report.OK = report.OK && !nothing // who removed all logs must not be told that all is well
	switch {
	case err != nil:
		return c.fail(exitTurnFailed, err)
	case nothing && !o.json:
		return c.fail(exitTurnFailed, nothingVerified(root, against.Server))
	case o.json:
		err = c.printJSON(report)
	default:
		c.showReport(report, against)
	}
	if err != nil || !report.OK {
		return exitTurnFailed
	}
	return exitOK
}

func publicKey(text string) (ed25519.PublicKey, error) {
	if key, err := audit.DecodeKey(text); err == nil {
		return key, nil
	}
	return audit.ReadPublicKey(text)
}

func checkpoints(text string) (all []audit.ExportedCheckpoint, err error) {
	raw := []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if raw, err = regular.Read(text, maxCheckpoints); err != nil {
			return nil, err
		}
	}
	for line := range bytes.Lines(raw) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		one, err := audit.ParseCheckpoint(line)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		err = errors.New("it holds no checkpoint")
	}
	return all, err
}

// showReport prints a line for each log, then what is wrong.
func (c *command) showReport(report audit.Report, against audit.VerifyOptions) {
	for _, l := range report.Logs {
		state := "whole"
		if l.Bad != nil {
			state = "BROKEN"
		}
		fmt.Fprintf(c.stdout, "%-6s %s  records %d to %d  %s\n", state, l.Boot, l.First, l.Last, signedBy(l, against))
		for _, note := range l.Notes {
			fmt.Fprintf(c.stdout, "       %s\n", escapeControl(note))
		}
		if l.Bad != nil {
			fmt.Fprintf(c.stdout, "       %s\n", escapeControl(l.Bad.String()))
		}
	}
	for i := range report.Lost {
		fmt.Fprintf(c.stdout, "LOST   %s\n", escapeControl(report.Lost[i].String()))
	}
	c.sum(report)
}

// sum is the last line, which says it all.
func (c *command) sum(report audit.Report) {
	records, broken := int64(0), 0
	for _, l := range report.Logs {
		records += l.Last - l.First + 1
		if l.Bad != nil {
			broken++
		}
	}
	text := fmt.Sprintf("%s, %s: ", plural(len(report.Logs), "log"), plural(int(records), "record"))
	switch {
	case report.OK:
		text += "whole"
	case len(report.Lost) == 0:
		text += fmt.Sprintf("%d broken", broken)
	default:
		text += fmt.Sprintf("%d broken, %d lost", broken, len(report.Lost))
	}
	fmt.Fprintln(c.stdout, text)
}

func nothingVerified(root, server string) error {
	if server != "" {
		return fmt.Errorf("audit verify: there is no log of a server %s… in %s, so nothing was verified", server, root)
	}
	return fmt.Errorf("audit verify: there is no audit log in %s, so nothing was verified; gatehouse serve and gatehouse run write one", root)
}

func signedBy(l audit.LogReport, against audit.VerifyOptions) string {
	switch {
	case l.KeyID == "":
		return "not signed"
	case len(against.Keys) == 0:
		return fmt.Sprintf("signed to %d by %s, as the log says", l.SignedTo, l.KeyID)
	}
	return fmt.Sprintf("signed to %d by %s", l.SignedTo, l.KeyID)
}
