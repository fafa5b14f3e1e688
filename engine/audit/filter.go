package audit

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Filter picks records. The zero value takes all.
type Filter struct {
	Since, Until time.Time // zero: no bound; Until is not within
	Server       string    // beginning of its id
	Session      string    // beginning of its id
	Tools        []string  // names, with * for any characters; empty: all
	Effects      []string
	Kinds        []Kind
	Rules        []string // one of which decided or spoke; with *
}

// Match reports whether f takes r.
func (f *Filter) Match(r *Record) bool {
	switch {
	case !f.Since.IsZero() && r.Time.Before(f.Since), !f.Until.IsZero() && !r.Time.Before(f.Until):
		return false
	case !strings.HasPrefix(r.Boot, f.Server), !strings.HasPrefix(r.Session, f.Session):
		return false
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind):
		return false
	case len(f.Tools) > 0 && !matches(f.Tools, r.Tool):
		return false
	case len(f.Effects) > 0 && (r.Verdict == nil || !slices.Contains(f.Effects, r.Verdict.Effect)):
		return false
	}
	return len(f.Rules) == 0 || r.Verdict != nil &&
		(matches(f.Rules, r.Verdict.Rule) || slices.ContainsFunc(r.Verdict.Rules, func(rule string) bool { return matches(f.Rules, rule) }))
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok || err != nil && p == name
	})
}
