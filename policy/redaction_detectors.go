package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
	"github.com/gatehouse-mcp/gatehouse/redact"
	"github.com/open-policy-agent/opa/v1/ast"
)

// detectorFields are the members of an entry of data.cfg.redaction.detectors.
var detectorFields = []string{"pattern", "keywords"}

// detectorsIn reads data.cfg.redaction.detectors of a layer: detectors of the
// user's own by name.
func detectorsIn(layer string, cfg map[string]any) ([]redact.Custom, error) {
	data, err := plain(cfg)
	if err != nil {
		return nil, err
	}
	section, _ := data["redaction"].(map[string]any)
	for name := range section {
		if strings.EqualFold(name, "detector") || strings.EqualFold(name, "detectors") && name != "detectors" {
			return nil, fmt.Errorf("data.cfg.redaction.%s of the %s policies: unknown, write \"detectors\": in data each is a table [redaction.detectors.NAME]", name, layer)
		}
	}
	value, given := section["detectors"]
	if !given {
		return nil, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("data.cfg.redaction.detectors of the %s policies: want an object of detectors by name", layer)
	}
	var all []redact.Custom
	for _, name := range sortedKeys(object) {
		at := "data.cfg.redaction.detectors." + name + " of the " + layer + " policies"
		entry, ok := object[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: want an object with pattern and keywords", at)
		}
		r := &reader{object: entry}
		r.knownNear(detectorFields)
		c := redact.Custom{Name: name, Pattern: r.text("pattern"), Keywords: r.list("keywords")}
		if r.err == nil && c.Pattern == "" {
			r.fail("pattern is missing")
		}
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", at, r.err)
		}
		all = append(all, c)
	}
	if _, err := redact.New(redact.Options{Custom: all}); err != nil {
		return nil, fmt.Errorf("data.cfg.redaction.detectors of the %s policies: %w", layer, err)
	}
	return all, nil
}

// mergeDetectors unites lists of detectors. One name may not stand for two.
func mergeDetectors(lists ...[]redact.Custom) ([]redact.Custom, error) {
	var all []redact.Custom
	for _, list := range lists {
		for _, c := range list {
			i := slices.IndexFunc(all, func(known redact.Custom) bool { return known.Name == c.Name })
			switch {
			case i < 0:
				all = append(all, c)
			case all[i].Pattern != c.Pattern || !slices.Equal(all[i].Keywords, c.Keywords):
				return nil, fmt.Errorf("detector %q: two of that name differ, %q and %q; give one of them another name", c.Name, all[i].Pattern, c.Pattern)
			}
		}
	}
	return all, nil
}

// loadDetectors takes the detectors of a layer's data in, and checks the names of
// detectors in edits that are written out where all of them are known.
func (s *Set) loadDetectors(layer string, data map[string]any) error {
	own, err := detectorsIn(layer, data)
	if err != nil {
		return err
	}
	lists := [][]redact.Custom{s.detectors, own}
	if o := s.options.Redaction; o != nil {
		if _, err := mergeDetectors(o.Custom, s.detectors, own); err != nil {
			return err
		}
	}
	s.detectors, err = mergeDetectors(lists...)
	return err
}

// checkDetectors refuses names of detectors that no detector has, in edits that
// are written out. It is asked when every layer is there.
func (s *Set) checkDetectors() error {
	o := s.options.Redaction
	if o == nil {
		return nil
	}
	all := *o
	var err error
	if all.Custom, err = mergeDetectors(o.Custom, s.detectors); err != nil {
		return err
	}
	for _, l := range s.layers {
		if l.name == "builtin" || l.queries[EntryRedaction] == nil {
			continue
		}
		if errs := l.unknownDetectors(all); len(errs) > 0 {
			return fmt.Errorf("load policies of layer %s: %w", l.name, readable(errs, l.sources...))
		}
	}
	return nil
}

func (l *layer) unknownDetectors(o redact.Options) (errs ast.Errors) {
	caps := capabilities()
	for _, src := range l.sources {
		m, err := parse(src, caps)
		if err != nil || m == nil || packageName(m) != redactionPackage {
			continue // it was parsed before
		}
		for _, r := range m.Rules {
			object := decisionLiteral(r)
			if object == nil {
				continue
			}
			t := object.Get(ast.StringTerm("detectors"))
			if t == nil {
				continue
			}
			for _, item := range writtenIn(t) {
				name, ok := item.Value.(ast.String)
				if !ok {
					continue
				}
				e := redact.Edit{Action: redact.Redact, Detectors: []string{string(name)}, Rule: "load.check"}
				if _, err := redact.NewPlan(redact.Spec{Options: o, Edits: []redact.Edit{e}}); err != nil {
					errs = append(errs, flaw(item.Location, "%s", planFault(e.Rule, err)))
				}
			}
		}
	}
	return errs
}

// DetectorNames are the names that edits may always use: built-in detectors and
// the sets of them.
func DetectorNames() []string { return append(redact.Kinds(), "vendor", "context", "custom") }

// Nearest is the word that a name differs least from, and by how many changes: 0
// when it is one of them. known must not be empty.
func Nearest(name string, known []string) (word string, changes int) {
	word = nearest(name, known)
	return word, spelling.Distance(name, word)
}
