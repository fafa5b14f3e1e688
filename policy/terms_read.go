package policy

import (
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
)

// readMaker makes terms of documents of type t without the parts that no rule of
// any layer looks at. A part stays whenever the analysis of the rules cannot
// tell: then reads holds it, or all.
func readMaker(t reflect.Type, reads inputReads) termMaker {
	if reads["*"] {
		return termMakerOf(t)
	}
	var kept []termField
	for _, f := range termFields(t, nil) {
		name := string(f.key.Value.(ast.String))
		switch {
		case reads.whole(name):
		case reads.within(name):
			f.make = partMaker(t.FieldByIndex(f.at).Type, name, reads, f.make)
		default:
			continue
		}
		kept = append(kept, f)
	}
	return fieldsMaker(kept)
}

// partMaker does the same one level below. Parts that are shared between
// documents stay whole, which costs nothing, and so do lists.
func partMaker(t reflect.Type, name string, reads inputReads, whole termMaker) termMaker {
	if t.Kind() != reflect.Struct || sharedTypes[t] > 0 {
		return whole
	}
	var kept []termField
	for _, f := range termFields(t, nil) {
		if reads.some(name, string(f.key.Value.(ast.String))) {
			kept = append(kept, f)
		}
	}
	build := fieldsMaker(kept)
	return withZero(t, build, build)
}

// permissionTerm makes the document of a call. What is told of the decision
// tells the whole document, and a project's rules may look at anything.
func (s *Set) permissionTerm(doc permissionInput, p *project, t *trace) ast.Value {
	if p != nil || t != nil || s.wholeDocuments {
		return toTerm(doc).Value
	}
	s.readOnce.Do(func() { s.readDoc = readMaker(reflect.TypeFor[permissionInput](), s.allReads()) })
	return s.readDoc(reflect.ValueOf(doc))
}

// inprocTerm does the same for the document of a call of a tool in this process.
func (s *Set) inprocTerm(doc inprocInput, p *project, t *trace) ast.Value {
	if p != nil || t != nil || s.wholeDocuments {
		return toTerm(doc).Value
	}
	s.readInprocOnce.Do(func() { s.readInproc = readMaker(reflect.TypeFor[inprocInput](), s.allReads()) })
	return s.readInproc(reflect.ValueOf(doc))
}

// allReads is what the rules of any layer look at.
func (s *Set) allReads() inputReads {
	all := inputReads{}
	for _, l := range s.layers {
		for name := range readsOf(l.compiler) {
			all[name] = true
		}
	}
	return all
}
