package redact

import (
	"fmt"
	"slices"
	"sync"
)

// rules is what a scanner looks for. It is immutable.
type rules struct {
	list     []rule // at one place the first counts
	literals []literal
	table    *table
	byFirst  [256][]uint16 // rules by the first byte of their prefix
	begins   [1024]uint64  // bits of the first two bytes of prefixes
	longest  int           // prefix, in bytes
	customs  *customs      // nil for none
	context  bool
	encoded  bool            // some may hide in JSON that has no escape for a printable character
	names    map[string]bool // of detectors, as they stand in placeholders
	options  Options         // what was asked for beside the vendor formats, for Only
}

// vendorRules are made at first use, so that a process that redacts nothing does
// not wait for them.
var vendorRules = sync.OnceValue(func() *rules {
	r, _ := newRules(Options{}, func(string, class) bool { return true }) // errors are of options
	return r
})

// newRules makes the rules for which wanted holds.
func newRules(o Options, wanted func(kind string, c class) bool) (*rules, error) {
	r := &rules{names: make(map[string]bool, len(vendors())/2), options: o}
	r.list, r.literals = make([]rule, 0, len(vendors())+len(keywords)), make([]literal, 0, len(vendors())+len(keywords))
	r.names[contextKind] = true
	for i := range vendors() {
		r.names[vendors()[i].kind] = true
	}
	for i := range vendors() {
		r.add(rule{format: vendors()[i]}, wanted)
	}
	if err := r.addValues(o.Values, wanted); err != nil {
		return nil, err
	}
	if wanted(contextKind, classContext) && o.Context {
		r.context = true
		for _, k := range contextRules() {
			r.add(k, wanted)
		}
	}
	if err := r.addCustoms(o.Custom, wanted); err != nil {
		return nil, err
	}
	r.table = newTable(r.literals)
	return r, nil
}

func (r *rules) add(f rule, wanted func(string, class) bool) {
	if !wanted(f.kind, f.class) {
		return
	}
	n := uint16(len(r.list))
	r.list = append(r.list, f)
	r.literals = append(r.literals, literal{f.prefix, f.fold})
	r.longest = max(r.longest, len(f.prefix))
	first := f.prefix[0]
	r.byFirst[first] = append(r.byFirst[first], n)
	pairs, spelt := literal{f.prefix, f.fold}.spellings(0)
	for _, p := range pairs[:spelt] {
		r.begins[p>>6] |= 1 << (p & 63)
	}
	if f.fold && upper(first) != first {
		r.byFirst[upper(first)] = append(r.byFirst[upper(first)], n)
	}
}

// Kinds lists the names of the built-in detectors, sorted: the vendor formats
// and "context".
func Kinds() []string {
	all := []string{contextKind}
	for i := range vendors() {
		all = append(all, vendors()[i].kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Only returns a scanner for these detectors and no others, also for built-in
// ones that sc does not look for. Names are those of kinds, of sc's custom
// detectors and values, and of the sets "vendor", "context" and "custom"; the
// error names one that is unknown. It costs as much as New: keep the result.
func (sc Scanner) Only(detectors []string) (Scanner, error) {
	r := sc.rules()
	known := map[string]bool{setVendor: true, setContext: true, setCustom: true}
	for name := range r.names {
		known[name] = true
	}
	asked := map[string]bool{}
	for _, name := range detectors {
		if !known[name] {
			return Scanner{}, fmt.Errorf("detector %q: unknown; known are the sets %q, the kinds of Kinds, and the names of custom detectors and values", name, setNames)
		}
		asked[name] = true
	}
	o := r.options
	o.Context = true
	only, err := newRules(o, func(kind string, c class) bool {
		return asked[kind] || asked[[]string{setVendor, setCustom, setContext}[c]]
	})
	return Scanner{only}, err
}
