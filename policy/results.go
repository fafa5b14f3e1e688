package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Bounds of what the rules of one layer return in one evaluation. A part that is
// shared counts every time it is met: a few dozen rules can share so much that
// written out it would fill the memory.
const (
	maxResultParts = 100_000
	maxResultBytes = 2 << 20 // a change may carry a whole input
	maxResultDepth = 64
)

// resultError is the error of a result beyond one of those bounds.
type resultError struct{ limit string }

func (e *resultError) Error() string {
	return "the policies return more than " + e.limit + "; say less, or name what is meant instead of repeating it"
}

// overBounds is the error of a result that is too large, nil for other errors.
func overBounds(err error) error {
	var over *resultError
	if errors.As(err, &over) {
		return over
	}
	return nil
}

// converter turns terms into what a JSON decoder yields.
type converter struct {
	ctx          context.Context
	parts, bytes int
}

func (c *converter) plain(v ast.Value, depth int) (any, error) {
	if err := c.count(v, depth); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case ast.Null:
		return nil, nil
	case ast.Boolean:
		return bool(v), nil
	case ast.Number:
		return json.Number(v), nil
	case ast.String:
		return string(v), nil
	case *ast.Array:
		return c.list(v.Len(), v.Iter, depth)
	case ast.Set:
		return c.list(v.Len(), v.Iter, depth)
	case ast.Object:
		return c.object(v, depth)
	}
	return nil, fmt.Errorf("no JSON for %T", v)
}

// count adds one part, and looks at the context now and then.
func (c *converter) count(v ast.Value, depth int) error {
	switch v := v.(type) {
	case ast.String:
		c.bytes += len(v)
	case ast.Number:
		c.bytes += len(v)
	}
	c.parts++
	switch {
	case c.parts > maxResultParts:
		return &resultError{fmt.Sprintf("%d parts", maxResultParts)}
	case c.bytes > maxResultBytes:
		return &resultError{fmt.Sprintf("%d bytes", maxResultBytes)}
	case depth > maxResultDepth:
		return &resultError{fmt.Sprintf("%d levels", maxResultDepth)}
	case c.parts%1024 == 0:
		return c.ctx.Err()
	}
	return nil
}

func (c *converter) list(n int, each func(func(*ast.Term) error) error, depth int) (any, error) {
	if n > maxResultParts-c.parts { // before a set is sorted
		return nil, &resultError{fmt.Sprintf("%d parts", maxResultParts)}
	}
	all := make([]any, 0, n)
	err := each(func(t *ast.Term) error {
		item, err := c.plain(t.Value, depth+1)
		all = append(all, item)
		return err
	})
	return all, err
}

func (c *converter) object(o ast.Object, depth int) (any, error) {
	all := map[string]any{}
	err := o.Iter(func(k, v *ast.Term) error {
		key, err := c.plain(k.Value, depth+1)
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			raw, err := json.Marshal(key)
			if err != nil {
				return err
			}
			name = string(raw)
		}
		all[name], err = c.plain(v.Value, depth+1)
		return err
	})
	return all, err
}
