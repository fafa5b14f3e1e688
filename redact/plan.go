package redact

import "encoding/json"

// Action is what an edit does to what it selects.
type Action string

// The actions. What an edit selects is, in this order: the finds of its
// detectors in the selected texts, when it names detectors; the values of
// its keys, when it names keys; else the selected texts themselves.
const (
	Redact      Action = "redact"        // becomes "[REDACTED:name]"
	Replace     Action = "replace"       // becomes Edit.With
	Drop        Action = "drop"          // becomes nothing: an empty text
	Hash        Action = "hash"          // becomes "[REDACTED:hash:…]", the same for equal texts of one session
	Truncate    Action = "truncate"      // texts are cut to Edit.MaxBytes
	MaskJSONKey Action = "mask_json_key" // values of members named in Edit.Keys become "[REDACTED:key]", also in JSON inside a text
)

// Edit is one instruction of a plan, as policies write it.
type Edit struct {
	Select    Select   `json:"select"`
	Action    Action   `json:"action"`
	Detectors []string `json:"detectors,omitempty"` // kinds of secrets, or the names of sets of them: "vendor", "context", "custom"
	Keys      []string `json:"keys,omitempty"`      // of members; case does not matter
	With      string   `json:"with,omitempty"`
	MaxBytes  int      `json:"max_bytes,omitempty"`
	Rule      string   `json:"rule"`
	Reason    string   `json:"reason,omitempty"`
}

// Select narrows an edit; its zero value selects every text of a payload.
type Select struct {
	Blocks  []string `json:"blocks,omitempty"`  // types of blocks, as "text", "tool_use", "tool_result"
	Tools   []string `json:"tools,omitempty"`   // globs of tool names
	Pointer string   `json:"pointer,omitempty"` // JSON pointer into the payload, "*" for any step; what lies below is selected too
}

// Block is what a payload, or a part of it, holds.
type Block struct {
	Type string // "text", "tool_use", "tool_result", …; empty: not known
	Tool string // empty: none
}

// Spec is a plan in a form that can be handed to another process.
type Spec struct {
	Options Options `json:"options"`
	Edits   []Edit  `json:"edits,omitempty"`
	HashKey []byte  `json:"hash_key,omitempty"` // of action hash; empty: one of this process
}

// Plan is a checked list of edits over a scanner. It is immutable and safe for
// concurrent use; the zero value covers the built-in vendor formats.
type Plan struct {
	scanner Scanner
	edits   []Edit
}

// NewPlan checks a spec; the error names the edit and the field.
func NewPlan(s Spec) (*Plan, error) {
	sc, err := New(s.Options)
	if err != nil {
		return nil, err
	}
	return &Plan{scanner: sc, edits: s.Edits}, nil
}

// Apply covers what the plan says in a payload. whole says what the payload is;
// blocks under /message/content tell themselves. A payload without anything to
// cover is returned as it is, with nil.
func (p *Plan) Apply(whole Block, doc json.RawMessage) (json.RawMessage, []Finding) {
	return p.scanner.JSON(doc)
}

// Stream begins a text of one block that arrives in pieces.
func (p *Plan) Stream(b Block) *Stream { return p.scanner.Stream() }
