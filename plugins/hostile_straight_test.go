package plugins

import (
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// hostileStraight are guests that spend their time in code without a loop and
// without a call of their own functions, where the runtime does not look whether it
// has to stop by itself.
func hostileStraight() []hostile {
	inARow := func(n int, code ...[]byte) func() []byte {
		return guestOf(func(g *w.Guest) []byte {
			return w.Cat(w.Const(500), w.MemoryGrow(), w.Drop(), w.Repeat(n, code...), g.Log(w.Info, "through"))
		})
	}
	return []hostile{
		{name: "bulk fills in a row", wasm: inARow(1500, w.Const(0), w.Const(7), w.Const(500<<16), w.Fill()), change: soon, fails: stopped, quiet: true},
		{name: "bulk copies in a row", wasm: inARow(1500, w.Const(0), w.Const(1), w.Const(499<<16), []byte{0xfc, 10, 0, 0}), change: soon, fails: stopped, quiet: true},
		{name: "host functions in a row", wasm: hostInARow, hook: RedactHook, change: soon, fails: stopped, quiet: true},
	}
}

// hostInARow gives a long output that is no JSON, which shows only at its end.
func hostInARow() []byte {
	g := w.NewGuest()
	g.Hook("redact", w.Const(16), w.MemoryGrow(), w.Drop(), w.Const(0), w.Const(' '), w.Const(1<<20), w.Fill(),
		w.Repeat(8000, w.Const(0), w.Const(1<<20), w.Call(w.OutputFunc), w.Drop()), g.Log(w.Info, "through"))
	return g.Bytes()
}
