// Package plugins runs hooks that are WebAssembly modules nobody needs to trust.
//
// [Load] reads, checks, rewrites and compiles the modules and gives a [Host], which
// is an annotator of calls and requests, a redactor and an observer of events, and
// offers tools. Whoever loads it closes it, after what uses it.
//
// A module imports functions of [ABI] only, exports one function of no arguments
// for each [Hook], and sees one document: it asks for its parts by JSON pointer
// and says a verdict, annotations or an output. What counts is a normal return with
// code 0 within all limits; everything else is the plugin's on_error.
package plugins
