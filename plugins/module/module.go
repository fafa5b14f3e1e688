// Package module makes WebAssembly modules safe to compile and to stop.
//
// [Prepare] refuses what cannot be bounded and rewrites the rest: each function
// begins with an empty loop, where the runtime looks whether it has to stop, and
// each table has a maximum.
package module

import "errors"

// Prepared is a module that may be compiled.
type Prepared struct {
	Wasm    []byte
	Imports []Import
	Exports []Export
	Memory  Memory // its own; the zero value: none
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
func Prepare(wasm []byte) (Prepared, error) { return Prepared{}, errors.New("module: not built yet") }
