package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

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

// Actions lists every action.
var Actions = []Action{Redact, Replace, Drop, Hash, Truncate, MaskJSONKey}

// Edit is one instruction of a plan, as policies write it. See [NewPlan] for
// which fields an action takes.
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
	Tools   []string `json:"tools,omitempty"`   // globs of tool names; a tool's block whose tool is not known fits every one
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
//
// What no edit says anything about is covered as [Scanner.JSON] does. Where
// several edits meet at one find or one text, the one that tells least counts:
// drop, then redact and mask_json_key, then replace, then hash; of equals the
// first. Texts are cut last, to the smallest bound. Edits change texts; of what
// is no text only a value under a named key, which keeps its kind: a number
// becomes 0, a boolean false. Names of members stay, unless a detector finds a
// secret in one, and so does what readers tell shapes apart by (see keeps).
type Plan struct {
	scanner Scanner // what is looked for everywhere
	wide    Scanner // and what edits ask for beside it
	edits   []edit
	placed  bool // an edit has a pointer
	key     []byte
}

// Apply covers what the plan says in a payload. whole says what the payload is;
// where its type is not known, the elements of /message/content are blocks of
// their own, which tell themselves. A payload without anything to cover is
// returned as it is, with nil; what is no JSON is replaced as a whole. Applying
// a plan twice changes nothing more.
func (p *Plan) Apply(whole Block, doc json.RawMessage) (json.RawMessage, []Finding) {
	if p.idle(whole) || !valid(doc) {
		return p.scanner.JSON(doc)
	}
	w := planWalk{cursor: cursor{in: view8(doc)}, plan: p, whole: whole, block: whole}
	w.choose()
	w.space()
	w.value("", nil)
	if len(w.found) == 0 {
		return doc, nil
	}
	return w.done(), w.found
}

// ApplyKnownValid is Apply for a payload that was decoded before: it is checked
// only where something has to be covered in it. One that is no JSON after all
// passes only where its bytes, as they stand, show no secret.
func (p *Plan) ApplyKnownValid(whole Block, doc json.RawMessage) (json.RawMessage, []Finding) {
	if p.idle(whole) {
		return p.scanner.JSONKnownValid(doc)
	}
	return p.Apply(whole, doc)
}

// idle reports whether no edit can be about anything in a payload.
func (p *Plan) idle(whole Block) bool {
	if whole.Type == "" {
		return len(p.edits) == 0 // blocks in it may tell themselves
	}
	return !slices.ContainsFunc(p.edits, func(e edit) bool { return e.about(whole) })
}

// maxRounds bounds how often a text is looked at again because covering a part
// of it brought something else about.
const maxRounds = 8

// cover is what becomes of one text, the value of a member. One that does not come to rest is covered
// as a whole.
func (p *Plan) cover(sel *selection, key, s string) (string, []Hit) {
	if s == "" {
		return s, nil
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // as it would be written: bounds are of what is read
	}
	if sel.whole != nil {
		return p.instead(sel.whole, s)
	}
	out, all := p.pass(sel, key, s)
	for range maxRounds {
		if len(all) == 0 || isPlaceholder(out) {
			return out, all
		}
		next, more := p.pass(sel, key, out)
		if len(more) == 0 {
			return out, all
		}
		out, all = next, append(all, more...)
	}
	return placeholder("text"), all
}

// pass masks members in JSON within a text, covers finds and cuts, each once.
func (p *Plan) pass(sel *selection, key, s string) (string, []Hit) {
	var all []Hit
	if len(sel.keys) > 0 {
		s, all = p.nested(sel.keys, s, 0)
	}
	s, hits := p.finds(sel, key, s)
	all = append(all, hits...)
	if sel.cut == nil {
		return s, all
	}
	cut, did := sel.cut.cut(s)
	if did {
		all = append(all, Hit{Detector: sel.cut.Rule})
	}
	return cut, all
}

// instead is what a whole text becomes by an edit. What already says that all of
// it was covered stays.
func (p *Plan) instead(e *edit, s string) (string, []Hit) {
	if isPlaceholder(s) && ownNames[s[len(placeholderStart):len(s)-1]] {
		return s, nil
	}
	if out := e.becomes(p.key, s); out != s {
		return out, []Hit{{Detector: e.Rule}}
	}
	return s, nil
}

// isPlaceholder reports whether s is one placeholder and nothing else.
func isPlaceholder(s string) bool {
	name, ok := strings.CutPrefix(s, placeholderStart)
	name, closed := strings.CutSuffix(name, "]")
	return ok && closed && len(name) <= maxName && run(name, 0, &nameBytes) == len(name)
}

// maxName bounds the name in a placeholder, in bytes: "hash:" and a digest, a
// detector, or a rule.
const maxName = 80

var nameBytes = chars("azAZ09", "_-.:")
