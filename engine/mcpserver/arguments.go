package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// Bounds of numeric arguments, the same as in schema/*.json.
const (
	maxTimeoutMS = 24 * 60 * 60 * 1000
	maxWaitMS    = 55_000 // below the 60 s after which some clients give a call up
	maxCount     = 1_000_000
	maxCursor    = 1 << 53 // the largest integer every JSON reader keeps exactly
)

// arguments is a caller's argument object, decoded strictly: names are known,
// spelt exactly and unique, and none is null (null is how some clients say "not
// set", so such names are left out).
//
// The typed getters (values.go) return the zero value for an absent name. The first one
// that meets a wrong type or value keeps its complaint; check err once, after
// the last getter.
type arguments struct {
	values map[string]json.RawMessage // each exactly as sent
	err    error
}

// decodeArguments reads raw; known are the tool's parameters. The arguments it
// returns are usable even with an error, for the session id in the answer.
func decodeArguments(raw json.RawMessage, known []string) (arguments, error) {
	a := arguments{values: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(raw)) == 0 || isNull(raw) {
		return a, nil
	}
	fields, err := members(raw)
	if err != nil {
		return a, invalid("arguments: %v", err)
	}
	for _, f := range fields {
		if !slices.Contains(known, f.name) {
			err = first(err, unknown(f.name, known))
		} else if !isNull(f.value) {
			a.values[f.name] = f.value
		}
	}
	return a, err
}

// parameters lists the names a tool takes, from its schema, so that schema and
// decoder cannot disagree.
func parameters(tool string) []string { return properties(schema(tool + ".input")) }

// properties lists the names a schema of this program has.
func properties(schema json.RawMessage) []string {
	var s struct{ Properties json.RawMessage }
	if err := json.Unmarshal(schema, &s); err != nil {
		panic(err) // the file is ours
	}
	fields, err := members(s.Properties)
	if err != nil {
		panic(err)
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// sessionID is the session a call names, empty when it does not.
func (a arguments) sessionID() string {
	var id string
	_ = json.Unmarshal(a.values["sessionId"], &id) // a wrong type is reported by the getter
	return id
}

// has reports whether the caller set name to something else than null.
func (a *arguments) has(name string) bool { return a.values[name] != nil }

// raw returns the parameters as policy sees them: env one key a variable.
func (a *arguments) raw() map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(a.values))
	for name, v := range a.values {
		if name != "env" {
			out[name] = v
			continue
		}
		vars, _ := members(v) // checked when env was read
		for _, f := range vars {
			out["env."+f.name] = f.value
		}
	}
	return out
}

func (a *arguments) fail(format string, args ...any) { a.err = first(a.err, invalid(format, args...)) }

func invalid(format string, args ...any) *engine.Error {
	return engine.Errorf(engine.InvalidArgument, format, args...)
}

func first(have, next error) error {
	if have != nil {
		return have
	}
	return next
}

func messageOf(err error) string {
	if e, ok := err.(*engine.Error); ok {
		return e.Message
	}
	return err.Error()
}

func unknown(name string, known []string) *engine.Error {
	return invalid("%s: unknown argument%s", quoteName(name), didYouMean(name, known))
}

// quoteName shows a name a caller made up: short, and with nothing invisible.
func quoteName(name string) string {
	if r := []rune(name); len(r) > 64 {
		name = string(r[:64]) + "…"
	}
	return fmt.Sprintf("%q", name)
}
