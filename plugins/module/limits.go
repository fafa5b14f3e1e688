package module

// Caps of a module. What real guests need is far below them: the largest body of a
// Go guest has 58 KB, and one that carries encoding/json, fmt, regexp and
// text/template has 6 MB with 5 000 functions.
const (
	MaxModule        = 32 << 20 // bytes
	MaxBody          = 128 << 10
	MaxTypes         = 20_000
	MaxValues        = 256 // parameters, and results, of a function type
	MaxImports       = 1_000
	MaxFunctions     = 100_000
	MaxLocals        = 10_000     // of a function, with its parameters
	MaxLocalsBody    = 10_000_000 // locals × bytes of the body
	MaxNesting       = 2_000      // of blocks
	MaxTables        = 16
	MaxTable         = 100_000 // elements of a table; what a table may grow to
	MaxGlobals       = 10_000
	MaxExports       = 10_000
	MaxSegments      = 500_000 // of data, and of elements: a Go guest has one for each run of its data that is not zero
	MaxElements      = 1_000_000
	MaxMemory        = 8_192 // pages that a memory may have at its start
	maxPages         = 65_536
	maxName          = 4 << 10
	maxFunctionNames = 4 << 20 // bytes
)
