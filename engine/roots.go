package engine

import "slices"

// Roots are the folders sessions may live in, absolute and resolved. The first one
// is where a session lives whose caller names none.
func (e *Engine) Roots() []string { return slices.Clone(e.o.Roots) }
