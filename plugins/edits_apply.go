package plugins

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// editing is what edits are applied with.
type editing struct {
	plugin string
	marked bool // only placeholders: no text of the plugin's, and nothing goes without one
	shaped bool // null stands for what is removed: members are not taken out
	found  []event.Redaction
}

// editTree is a value that edits are about, or that has such values below it.
type editTree struct {
	below map[string]*editTree
	whole *edit // replaces or removes all of it; what is below then does not matter
	masks []edit
}

// apply hides what edits say in a payload of valid JSON. It returns data itself when
// there are none, and never changes it.
func (d *editing) apply(data json.RawMessage, edits []edit) (json.RawMessage, error) {
	if len(edits) == 0 {
		return data, nil
	}
	var root editTree
	for _, e := range edits {
		root.add(e)
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	tree, _, err := d.edited(tree, &root, "")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("edited payload: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// add puts an edit where it belongs. Of several for one value the first counts,
// but removing goes before replacing.
func (p *editTree) add(e edit) {
	for _, step := range e.steps {
		next := p.below[step]
		if next == nil {
			next = new(editTree)
			if p.below == nil {
				p.below = make(map[string]*editTree)
			}
			p.below[step] = next
		}
		p = next
	}
	switch {
	case e.op == opMask:
		p.masks = append(p.masks, e)
	case p.whole == nil || p.whole.op == opReplace && e.op == opRemove:
		p.whole = &e
	}
}

// edited is a value with its edits applied; gone, it is to be taken out.
func (d *editing) edited(v any, p *editTree, at string) (out any, gone bool, err error) {
	if p.whole != nil {
		return d.hidden(v, *p.whole, at)
	}
	switch v := v.(type) {
	case map[string]any:
		if len(p.masks) == 0 {
			return v, false, d.object(v, p, at)
		}
	case []any:
		if len(p.masks) == 0 {
			return v, false, d.list(v, p, at)
		}
	case string:
		if len(p.below) == 0 {
			out, err = d.masked(v, p.masks, at)
			return out, false, err
		}
	}
	if len(p.masks) > 0 {
		return nil, false, fmt.Errorf("edit of %q: op %s is for a text, and this is none", clip(at), opMask)
	}
	return nil, false, fmt.Errorf("edit below %q: there is nothing", clip(at))
}

func (d *editing) object(v map[string]any, p *editTree, at string) error {
	for _, step := range slices.Sorted(maps.Keys(p.below)) {
		value, there := v[step]
		if !there {
			return fmt.Errorf("edit of %q: the payload has no such member", clip(join(at, step)))
		}
		out, gone, err := d.edited(value, p.below[step], join(at, step))
		switch {
		case err != nil:
			return err
		case gone:
			delete(v, step)
		default:
			v[step] = out
		}
	}
	return nil
}

func (d *editing) list(v []any, p *editTree, at string) error {
	for _, step := range slices.Sorted(maps.Keys(p.below)) {
		i, index := arrayIndex(step)
		if !index || i >= len(v) {
			return fmt.Errorf("edit of %q: the payload has no such element", clip(join(at, step)))
		}
		out, _, err := d.edited(v[i], p.below[step], join(at, step)) // null stays: the others keep their place
		if err != nil {
			return err
		}
		v[i] = out
	}
	return nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func join(at, step string) string { return at + "/" + pointerEscapes.Replace(step) }

// errWhole is for edits that would leave nothing of a payload's form.
var errWhole = errors.New(`edit of "": the payload is no text; hide its members, or return a code other than 0 to have all of it withheld`)

// hidden replaces or removes a whole value.
func (d *editing) hidden(v any, e edit, at string) (out any, gone bool, err error) {
	if _, text := v.(string); at == "" && !text {
		return nil, false, errWhole
	}
	d.tell(at, e)
	switch {
	case d.marked, e.op == opReplace:
		return d.cover(e), false, nil
	case at == "":
		return "", false, nil
	}
	return nil, !d.shaped, nil
}

// cover is what stands in the place of what an edit hides.
func (d *editing) cover(e edit) string {
	if d.marked || e.with == nil {
		return placeholderStart + detector(d.plugin, e.rule) + "]"
	}
	return *e.with
}

// tell notes an edit; equal ones are counted.
func (d *editing) tell(at string, e edit) {
	name := detector(d.plugin, e.rule)
	for i, f := range d.found {
		if f.Pointer == at && f.Detector == name {
			d.found[i].Count++
			return
		}
	}
	d.found = append(d.found, event.Redaction{Pointer: at, Detector: name, Count: 1})
}

// masked covers ranges of a text. Those that overlap become one, as the first says;
// a placeholder is covered whole or not at all.
func (d *editing) masked(text string, masks []edit, at string) (string, error) {
	known := placeholder.FindAllStringIndex(text, -1)
	for i := range masks {
		m := &masks[i]
		if err := within(text, *m, at); err != nil {
			return "", err
		}
		m.widen(known)
	}
	slices.SortStableFunc(masks, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	done, placeholders := 0, 0
	for i, m := range masks {
		d.tell(at, m)
		if i > 0 && m.start < done {
			if m.end > done { // what is left of it goes with the one before
				done = m.end
			}
			continue
		}
		part, cover := text[done:m.start], d.cover(m)
		placeholders += count(part) + count(cover)
		b.WriteString(part + cover)
		done = m.end
	}
	b.WriteString(text[done:])
	out := b.String()
	if placeholders += count(text[done:]); count(out) != placeholders {
		return "", fmt.Errorf("edit of %q: it makes what looks like a placeholder of Gatehouse; leave with out to have one", clip(at))
	}
	return out, nil
}

func count(s string) int {
	if !strings.Contains(s, placeholderStart) {
		return 0
	}
	return len(placeholder.FindAllStringIndex(s, -1))
}

// widen takes in all of the placeholders that a mask touches. They are in order, and
// there may be very many.
func (e *edit) widen(placeholders [][]int) {
	first := sort.Search(len(placeholders), func(i int) bool { return placeholders[i][1] > e.start })
	behind := sort.Search(len(placeholders), func(i int) bool { return placeholders[i][0] >= e.end })
	if first < behind {
		e.start, e.end = min(e.start, placeholders[first][0]), max(e.end, placeholders[behind-1][1])
	}
}

// within refuses ranges that are not in the text, or cut a character.
func within(text string, m edit, at string) error {
	boundary := func(i int) bool { return i == len(text) || utf8.RuneStart(text[i]) }
	switch {
	case m.start < 0 || m.start >= m.end || m.end > len(text):
		return fmt.Errorf("edit of %q: bytes %d to %d are no part of the text, which has %d", clip(at), m.start, m.end, len(text))
	case !boundary(m.start) || !boundary(m.end):
		return fmt.Errorf("edit of %q: bytes %d to %d cut a character", clip(at), m.start, m.end)
	}
	return nil
}

// sort puts what was found in order.
func (d *editing) sort() {
	slices.SortFunc(d.found, func(a, b event.Redaction) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Detector, b.Detector))
	})
}
