package policy

import (
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// The words and fields within a decision.
var (
	askFields        = []string{"timeout_s", "on_timeout", "approver", "approvers", "quorum", "scope", "ttl_s", "fields"}
	timeoutWords     = []string{"deny", "halt"}
	obligationFields = []string{"kind", "args"}
	cacheFields      = []string{"ttl_s", "key"}
)

// terms reads how a question may be answered.
func (r *reader) terms(name string) (t permission.AskTerms) {
	inner := r.within(name, askFields)
	if inner == nil {
		return t
	}
	if inner.one("on_timeout", timeoutWords) == "halt" {
		t.OnTimeout = permission.Halt
	}
	t.Approver = inner.one("approver", []string{"human"})
	t.TimeoutSeconds, t.TTLSeconds = inner.number("timeout_s", maxAskSeconds), inner.number("ttl_s", maxAskSeconds)
	t.Quorum, t.Scope = inner.number("quorum", maxQuorum), inner.one("scope", permission.Scopes)
	t.Approvers, t.Fields = inner.texts("approvers"), inner.pointers("fields")
	if list, ok := inner.object["approvers"].([]any); ok && len(list) == 0 {
		inner.fail("ask.approvers is empty, so nobody could answer; name a group or leave it out")
	}
	r.take(inner)
	return t
}

// take keeps the error of an inner object.
func (r *reader) take(inner *reader) {
	if inner.err != nil {
		r.fail("%w", inner.err)
	}
}

func (r *reader) obligations(name string) []permission.Obligation {
	value, present := r.object[name]
	list, ok := value.([]any)
	if present && !ok || len(list) > maxObligations {
		r.fail("%s must be a list of at most %d objects", name, maxObligations)
		return nil
	}
	var all []permission.Obligation
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			r.fail("%s must be a list of objects", name)
			continue
		}
		inner := &reader{object: object, at: "obligations."}
		inner.known(obligationFields)
		o := permission.Obligation{Kind: inner.text("kind")}
		if !slices.Contains(permission.Obligations, o.Kind) {
			inner.fail("obligations.kind %.80q: want one of %s", o.Kind, strings.Join(permission.Obligations, ", "))
		}
		args, given := object["args"]
		if o.Args, ok = args.(map[string]any); given && !ok {
			inner.fail("obligations.args must be an object")
		}
		if name, _ := o.Args["name"].(string); o.Kind == runPlugin && name == "" {
			inner.fail(pluginNeeded)
		}
		r.take(inner)
		all = append(all, o)
	}
	return all
}

func (r *reader) cache(name string) *permission.Cache {
	inner := r.within(name, cacheFields)
	if inner == nil {
		return nil
	}
	c := &permission.Cache{TTLSeconds: inner.number("ttl_s", maxCacheSeconds), Key: inner.pointers("key")}
	if _, given := inner.object["ttl_s"]; !given {
		inner.fail("cache needs ttl_s, seconds from 1 to %d", maxCacheSeconds)
	}
	r.take(inner)
	return c
}
