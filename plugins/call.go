package plugins

import (
	"encoding/json"
)

// document is what one call shows to plugins: the parts all of them see, and below
// them those of the one that is called (config and data). It is immutable and safe
// for concurrent use.
type document struct{}

// newDocument makes a document of its members, by name, each valid JSON. abi, hook
// and now are added.
func newDocument(hook Hook, members map[string]json.RawMessage) *document { return nil }

// call calls a hook once, under all limits and with the plugin's health kept. An
// error means that on_error holds: it says what happened and which limit it was,
// and begins with `plugin "name": `. session is the scope of kv; empty: of none.
//
//	func (p *plugin) call(ctx context.Context, hook Hook, d *document, session string) (Outcome, error)
type plugin struct{}
