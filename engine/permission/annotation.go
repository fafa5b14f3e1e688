package permission

import (
	"context"
	"encoding/json"
	"time"
)

// Annotation is what one plugin said about a call or a request, before policies
// judge it. Policies see all of them; those that are Binding also decide: an Ask or
// a Deny of theirs holds whatever policies say. None can loosen a decision.
type Annotation struct {
	Plugin  string                     // its name
	SHA256  string                     // of its file, hexadecimal
	Verdict Effect                     // Abstain (no opinion), Allow, Ask or Deny; after a failure what the plugin's on_error says, Abstain for skip
	Binding bool                       // an Ask or Deny holds; always so for one that a failure gave
	Reason  string                     // for people, at most 4 KiB; may be empty
	Values  map[string]json.RawMessage // annotations by key, each valid JSON, together at most 64 KiB; nil: none
	Error   string                     // why the plugin said nothing of its own; empty: it did
	Took    time.Duration              // waiting for a slot included
}

// Annotator is what says something about a call before the deciders do. It is
// safe for concurrent use and honours ctx. It never fails as a whole: what goes
// wrong is told by an annotation.
type Annotator interface {
	Annotate(ctx context.Context, r Request) []Annotation
	// Revision names the plugins in force and their settings; a change makes memoised
	// answers void. Empty: there are none.
	Revision() string
}
