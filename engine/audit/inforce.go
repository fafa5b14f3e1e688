package audit

import (
	"context"
	"encoding/json"
	"slices"
)

// maxRevisions bounds how many earlier revisions keep their digest: a decision
// that was begun under one may end after the next was loaded.
const maxRevisions = 8

// inForce is what records are stamped with. It is never changed, only replaced.
type inForce struct {
	config   string
	policies []revision // newest first
}

type revision struct{ name, digest string }

func (f *inForce) digest(name string) string {
	for _, r := range f.policies {
		if r.name == name {
			return r.digest
		}
	}
	return ""
}

// change is the detail of config_load and policy_load.
type change struct {
	Old         string `json:"old,omitempty"`
	New         string `json:"new"`
	OldRevision string `json:"old_revision,omitempty"`
	Revision    string `json:"revision,omitempty"`
}

// SetConfig records that a configuration was loaded, with the digest before; from
// here on records carry the new one, also where this record could not be written.
func (l *Log) SetConfig(ctx context.Context, digest string) error {
	var old string
	l.replace(func(f *inForce) { old, f.config = f.config, digest })
	return l.Record(ctx, Record{Kind: ConfigLoad, Detail: detail(change{Old: old, New: digest})})
}

// SetPolicy records that policies were loaded. From here on records that name the
// revision carry its digest, also where this record could not be written.
func (l *Log) SetPolicy(ctx context.Context, name, digest string) error {
	c := change{New: digest, Revision: name}
	l.replace(func(f *inForce) {
		c.Old, c.OldRevision = "", ""
		if len(f.policies) > 0 {
			c.Old, c.OldRevision = f.policies[0].digest, f.policies[0].name
		}
		f.policies = append([]revision{{name, digest}}, f.policies...)
		f.policies = f.policies[:min(len(f.policies), maxRevisions)]
	})
	return l.Record(ctx, Record{Kind: PolicyLoad, Policy: &Policy{Revision: name}, Detail: detail(c)})
}

func (l *Log) replace(change func(*inForce)) {
	for {
		old := l.current.Load()
		next := inForce{config: old.config, policies: slices.Clone(old.policies)}
		change(&next)
		if l.current.CompareAndSwap(old, &next) {
			return
		}
	}
}

// detail encodes one of our own structs of texts and numbers.
func detail(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // the program is wrong
	}
	return out
}
