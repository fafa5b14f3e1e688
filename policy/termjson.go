package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
)

// writtenTerm writes a document as JSON. OPA's own way makes maps of it first,
// which takes several times as long.
func writtenTerm(v ast.Value) (json.RawMessage, error) {
	b, err := appendTerm(make([]byte, 0, documentBase), v)
	if err != nil {
		return nil, fmt.Errorf("write policy document: %w", err)
	}
	return b, nil
}

// appendTerm appends one value. Documents hold nothing but what JSON has.
func appendTerm(b []byte, v ast.Value) ([]byte, error) {
	switch v := v.(type) {
	case ast.Null:
		return append(b, "null"...), nil
	case ast.Boolean:
		if v {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case ast.Number:
		return append(b, v...), nil
	case ast.String:
		return appendString(b, string(v))
	case *ast.Array:
		return appendArray(b, v)
	case ast.Object:
		return appendObject(b, v)
	}
	return nil, fmt.Errorf("no JSON for %T", v)
}

func appendArray(b []byte, a *ast.Array) (_ []byte, err error) {
	b = append(b, '[')
	for i := range a.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendTerm(b, a.Elem(i).Value); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, o ast.Object) ([]byte, error) {
	first := true
	b = append(b, '{')
	err := o.Iter(func(k, v *ast.Term) (err error) {
		if !first {
			b = append(b, ',')
		}
		first = false
		name, ok := k.Value.(ast.String)
		if !ok {
			return fmt.Errorf("a name is no text but %T", k.Value)
		}
		if b, err = appendString(b, string(name)); err != nil {
			return err
		}
		b, err = appendTerm(append(b, ':'), v.Value)
		return err
	})
	return append(b, '}'), err
}

// appendString quotes a text; most need nothing but the quotes.
func appendString(b []byte, s string) ([]byte, error) {
	plain := func(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf }
	for i := range len(s) {
		if !plain(s[i]) {
			var quoted strings.Builder
			w := json.NewEncoder(&quoted)
			w.SetEscapeHTML(false)
			err := w.Encode(s)
			return append(b, strings.TrimSuffix(quoted.String(), "\n")...), err
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}
