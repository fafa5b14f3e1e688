package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MaxDocument is how many bytes the members of a document may have. A call with a
// larger one fails.
const MaxDocument = 64 << 20

// document is what one call shows to plugins: the parts all of them see, and below
// them those of the one that is called (config and data). It is immutable and safe
// for concurrent use.
type document struct {
	hook    Hook
	names   []string // of members, sorted
	members map[string]*tape

	once   sync.Once
	joined []byte // {"abi":…, without its end, see whole
	err    error
}

// newDocument makes a document of its members, by name, each valid JSON. abi, hook
// and now are added.
func newDocument(hook Hook, members map[string]json.RawMessage) *document {
	d := &document{hook: hook, members: make(map[string]*tape, len(members)+3)}
	size := 0
	for name, value := range members {
		d.members[name] = newTape(value)
		size += len(name) + len(value)
	}
	if size > MaxDocument {
		d.err = fmt.Errorf("the document has %d bytes, more than %d", size, MaxDocument)
	}
	d.members["abi"] = newTape([]byte(`"` + ABI + `"`))
	d.members["hook"] = newTape([]byte(strconv.Quote(string(hook))))
	if d.members["now"] == nil {
		d.members["now"] = newTape([]byte(time.Now().UTC().Format(`"` + time.RFC3339 + `"`)))
	}
	d.names = slices.Sorted(maps.Keys(d.members))
	return d
}

// view is a document as one plugin sees it.
type view struct {
	*document
	config *tape
	data   func() *tape // nil: no data

	joined []byte // the whole of it, once somebody asked
}

// get is the text of the value that a valid pointer names. An error is about the
// document, not about the pointer.
func (v *view) get(path string) (text []byte, found bool, err error) {
	if v.err != nil {
		return nil, false, v.err
	}
	if path == "" {
		return v.whole(), true, nil
	}
	token, rest := cutToken(path)
	t := v.member(token)
	if t == nil {
		return nil, false, nil
	}
	if err := t.make(); err != nil {
		return nil, false, fmt.Errorf("the document's %s %w", token, err)
	}
	if at := t.find(rest); at >= 0 {
		return t.text(at), true, nil
	}
	return nil, false, nil
}

// member is a part of the document. config and data are in the document itself only
// where one is tried.
func (v *view) member(name string) *tape {
	switch {
	case v.members[name] != nil:
		return v.members[name]
	case name == "config" && v.config != nil:
		return v.config
	case name == "data" && v.data != nil:
		return v.data()
	}
	return nil
}

// whole is the whole document. Its common part is put together once for all plugins.
func (v *view) whole() []byte {
	if v.joined != nil {
		return v.joined
	}
	out := slices.Clip(v.common())
	for _, name := range []string{"config", "data"} {
		if t := v.member(name); t != nil {
			out = appendMember(out, name, t.raw)
		}
	}
	v.joined = append(out, '}')
	return v.joined
}

func (d *document) common() []byte {
	d.once.Do(func() {
		out := []byte{}
		for _, name := range d.names {
			if name != "config" && name != "data" {
				out = appendMember(out, name, d.members[name].raw)
			}
		}
		d.joined = out
	})
	return d.joined
}

func appendMember(out []byte, name string, value []byte) []byte {
	if len(out) == 0 {
		out = append(out, '{')
	} else {
		out = append(out, ',')
	}
	quoted, _ := json.Marshal(name) // a string always can be
	return append(append(append(out, quoted...), ':'), value...)
}

// selectData takes the dotted paths out of data, as nested objects. A path that is
// not there is left out.
func selectData(data map[string]any, paths []string) (json.RawMessage, error) {
	out := map[string]any{}
	for _, path := range paths {
		if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(path, p+".") }) {
			continue // the other holds it, and data's own maps must not be written to
		}
		keys := strings.Split(path, ".")
		if value, ok := lookUp(data, keys); ok {
			place(out, keys, value)
		}
	}
	return json.Marshal(out)
}

func lookUp(value any, keys []string) (any, bool) {
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// place puts value at its keys in out, making maps on the way.
func place(out map[string]any, keys []string, value any) {
	for _, key := range keys[:len(keys)-1] {
		next, ok := out[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			out[key] = next
		}
		out = next
	}
	out[keys[len(keys)-1]] = value
}
