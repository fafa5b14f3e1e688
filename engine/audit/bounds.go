package audit

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of one record.
const (
	maxRecord = 64 << 10        // of a whole line, in bytes
	maxBody   = maxRecord - 512 // without what the log puts around it
)

// bounds are those of a record's fields, in bytes and elements.
type bounds struct{ excerpt, reason, text, list, detail int }

var (
	looseBounds = bounds{excerpt: 2 << 10, reason: 1 << 10, text: 512, list: 64, detail: 16 << 10}
	// tightBounds are for a record that is too long all the same: whatever is in
	// it, at most six bytes a byte, fits.
	tightBounds = bounds{excerpt: 512, reason: 128, text: 64, list: 8, detail: 64}
)

// bound cuts what is too long, without touching what others see of the record.
// What was cut says so.
func bound(r *Record, b bounds) {
	for _, s := range []*string{&r.Session, &r.Parent, &r.Action, &r.Door, &r.Tool, &r.ToolUseID, &r.AgentID, &r.RequestID, &r.ShownDigest, &r.ConfigDigest} {
		*s = cut(*s, b.text)
	}
	r.Kind = Kind(cut(string(r.Kind), b.text))
	r.Cwd = cut(r.Cwd, b.reason)
	if len(r.Detail) > b.detail {
		r.Detail = json.RawMessage(fmt.Sprintf(`{"cut":%d}`, len(r.Detail)))
	}
	if r.Input != nil {
		in := *r.Input
		in.Excerpt = cut(in.Excerpt, b.excerpt)
		r.Input = &in
	}
	if r.Verdict != nil {
		v := *r.Verdict
		v.ID, v.Effect, v.Rule, v.Reason = cut(v.ID, b.text), cut(v.Effect, b.text), cut(v.Rule, b.text), cut(v.Reason, b.reason)
		v.Rules, v.Obligations = cutList(v.Rules, b), cutList(v.Obligations, b)
		r.Verdict = &v
	}
	if r.By != nil {
		r.By = &By{Kind: cut(r.By.Kind, b.text), Name: cut(r.By.Name, b.text)}
	}
	boundWho(r, b)
}

func boundWho(r *Record, b bounds) {
	if r.Principal != nil {
		p := *r.Principal
		for _, s := range []*string{&p.Transport, &p.Client, &p.Version, &p.Subject, &p.Remote} {
			*s = cut(*s, b.text)
		}
		p.Groups = cutList(p.Groups, b)
		r.Principal = &p
	}
	if r.CLI != nil {
		r.CLI = &CLI{Path: cut(r.CLI.Path, b.reason), Version: cut(r.CLI.Version, b.text), SHA256: cut(r.CLI.SHA256, b.text)}
	}
	if r.Policy != nil {
		r.Policy = &Policy{Package: cut(r.Policy.Package, b.text), Revision: cut(r.Policy.Revision, b.text), Digest: cut(r.Policy.Digest, b.text)}
	}
	plugins := r.Plugins
	r.Plugins = nil
	for i, p := range plugins {
		if i == b.list {
			r.Plugins = append(r.Plugins, Plugin{Name: fmt.Sprintf("… %d more", len(plugins)-i)})
			break
		}
		p.Name, p.SHA256, p.Verdict, p.Error = cut(p.Name, b.text), cut(p.SHA256, b.text), cut(p.Verdict, b.text), cut(p.Error, b.text)
		r.Plugins = append(r.Plugins, p)
	}
}

// cut shortens a text to about n bytes at a character and says how much is missing.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := n
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:at], len(s)-at)
}

func cutList(all []string, b bounds) []string {
	whole := len(all) <= b.list
	for _, s := range all {
		whole = whole && len(s) <= b.text
	}
	if whole {
		return all
	}
	var out []string
	for i, s := range all {
		if i == b.list {
			return append(out, fmt.Sprintf("… %d more", len(all)-i))
		}
		out = append(out, cut(s, b.text))
	}
	return out
}
