package policy

import (
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
)

func (r *ruleReader) term() *ast.Term {
	switch tag := r.number(); tag {
	case tagNone:
		return nil
	case tagVar:
		w := r.word()
		if w.name == nil {
			w.name = r.new(ast.Var(w.text))
		}
		return w.name
	case tagString:
		w := r.word()
		if w.value == nil {
			w.value = r.new(ast.String(w.text))
		}
		return w.value
	case tagNumber:
		w := r.word()
		if w.number == nil {
			w.number = r.new(ast.Number(json.Number(w.text)))
		}
		return w.number
	case tagTrue, tagFalse:
		return ast.InternedTerm(tag == tagTrue)
	case tagNull:
		return ast.InternedNullTerm
	default:
		return r.compound(tag)
	}
}

// compound reads a term that holds others.
func (r *ruleReader) compound(tag int) *ast.Term {
	switch tag {
	case tagRef:
		return r.new(ast.Ref(r.list()))
	case tagCall:
		return r.new(ast.Call(r.list()))
	case tagArray:
		return r.new(ast.NewArray(r.list()...))
	case tagSet:
		return r.new(ast.NewSet(r.list()...))
	case tagObject:
		return r.object()
	case tagArrayOf, tagSetOf, tagObjectOf:
		r.lists[r.file] = true
		return r.comprehension(tag)
	}
	r.fail()
	return nil
}

func (r *ruleReader) comprehension(tag int) *ast.Term {
	switch tag {
	case tagArrayOf:
		return r.new(&ast.ArrayComprehension{Term: r.term(), Body: r.body()})
	case tagSetOf:
		return r.new(&ast.SetComprehension{Term: r.term(), Body: r.body()})
	}
	return r.new(&ast.ObjectComprehension{Key: r.term(), Value: r.term(), Body: r.body()})
}

func (r *ruleReader) object() *ast.Term {
	pairs := make([][2]*ast.Term, r.count())
	for i := range pairs {
		if pairs[i] = [2]*ast.Term{r.term(), r.term()}; pairs[i][0] == nil || pairs[i][1] == nil {
			r.fail()
			return nil
		}
	}
	return r.new(ast.NewObject(pairs...))
}

// new takes terms from blocks: there are thousands of them.
func (r *ruleReader) new(v ast.Value) *ast.Term {
	if len(r.terms) == 0 {
		r.terms = make([]ast.Term, 128)
	}
	t := &r.terms[0]
	r.terms = r.terms[1:]
	t.Value = v
	return t
}
