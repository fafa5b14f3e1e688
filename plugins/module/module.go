// Package module makes WebAssembly modules safe to compile and to stop.
//
// [Prepare] refuses what cannot be bounded and rewrites the rest: each function
// begins with an empty loop, where the runtime looks whether it has to stop, and
// each table has a maximum.
package module

import "fmt"

// Prepared is a module that may be compiled.
type Prepared struct {
	Wasm    []byte
	Imports []Import
	Exports []Export
	Memory  Memory // its own; the zero value: none

	// Beside is how many bytes an instance takes beside its memory, about: for its
	// tables as large as they may grow, globals and segments.
	Beside int64
}

// Import is one function a module imports.
type Import struct{ Module, Name, Type string } // Type as in "(i32, i32) -> i32"

// Export is what a module exports.
type Export struct {
	Name, Kind string // Kind is func, table, memory or global
	Type       string // of a func, as in "() -> i32"
}

// Memory is the size of a linear memory in pages of 64 KiB.
type Memory struct {
	Min, Max uint32
	Bounded  bool // Max is set
}

// Prepare checks and rewrites a module. The error says what was refused, and why.
//
// Types of operands are left to the runtime's own validation; the form, the sizes
// and what compiling costs are not. Custom sections are dropped, since debug
// information would be wrong afterwards, but for the names of functions.
func Prepare(wasm []byte) (Prepared, error) {
	if len(wasm) > MaxModule {
		return Prepared{}, fmt.Errorf("module has %d bytes, at most %d are allowed", len(wasm), MaxModule)
	}
	p := &parser{reader: &reader{b: wasm}, out: make([]byte, 0, len(wasm)+len(wasm)/8+64), texts: map[int]string{}}
	if err := p.module(); err != nil {
		return Prepared{}, fmt.Errorf("module: %w", err)
	}
	p.prepared.Wasm = p.out
	return p.prepared, nil
}
