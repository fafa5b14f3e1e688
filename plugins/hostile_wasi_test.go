package plugins

import (
	"encoding/binary"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// wasiGuest is a guest that imports one function of WASI, whose index is 6.
func wasiGuest(name, params string, code func(g *w.Guest, call []byte) []byte) func() []byte {
	return func() []byte {
		g := w.NewGuest()
		t := w.HookType
		for _, p := range params {
			t.Params = append(t.Params, map[rune]byte{'i': w.I32, 'l': w.I64}[p])
		}
		if name == "proc_exit" {
			t.Results = nil
		}
		g.Imports = append(g.Imports, w.Import{Module: wasi, Name: name, Type: t})
		body := code(g, w.Call(6))
		g.Hook(pre, body)
		return g.Bytes()
	}
}

func load32(at int32) []byte { return w.Cat(w.Const(at), []byte{0x28, 2, 0}) }

func load64(at int32) []byte { return w.Cat(w.Const(at), []byte{0x29, 3, 0}) }

// nothing is a function that says there are no such things.
func nothing(name string) func() []byte {
	return wasiGuest(name, "ii", func(g *w.Guest, call []byte) []byte {
		return w.Cat(w.Const(w.Buffer), w.Const(-1), []byte{0x36, 2, 0}, // so that a 0 is written
			g.Must(0, w.Const(w.Buffer), w.Const(w.Buffer+4), call), g.Must(0, load32(w.Buffer)), g.Must(0, load32(w.Buffer+4)))
	})
}

func hostileWASI() []hostile {
	exit := func(g *w.Guest, call []byte) []byte {
		return w.Cat(g.Verdict(w.AllowKind, "fine"), w.Const(0), call)
	}
	return []hostile{
		{name: "exit with 0", wasm: wasiGuest("proc_exit", "i", exit), fails: "exited with status 0"},
		{name: "exit while it begins", load: "exited with status 0", wasm: func() []byte {
			g := w.NewGuest()
			g.Imports = append(g.Imports, w.Import{Module: wasi, Name: "proc_exit", Type: w.Type{Params: []byte{w.I32}}})
			g.Hook(pre)
			g.Export("_initialize", g.Add(w.Func{Body: w.Cat(w.Const(0), w.Call(6))}))
			return g.Bytes()
		}},
		{name: "environment", wasm: nothing("environ_sizes_get")},
		{name: "arguments", wasm: nothing("args_sizes_get")},
		{name: "open folder", wasm: wasiGuest("fd_prestat_get", "ii", func(g *w.Guest, call []byte) []byte {
			return g.Must(8, w.Const(3), w.Const(w.Buffer), call)
		})},
		{name: "open file", wasm: wasiGuest("path_open", "iiiiillii", func(g *w.Guest, call []byte) []byte {
			path := w.Cat(w.Const(3), w.Const(0), g.Text("/etc/passwd"))
			return g.Must(52, path, w.Const(0), w.Const64(-1), w.Const64(-1), w.Const(0), w.Const(w.Buffer), call)
		})},
		{name: "clock", wasm: wasiGuest("clock_time_get", "ili", func(g *w.Guest, call []byte) []byte {
			in2023 := w.Const64(1_672_531_200_000_000_000)
			return w.Cat(g.Must(0, w.Const(0), w.Const64(1), w.Const(w.Buffer), call), g.Must(1, load64(w.Buffer), in2023, []byte{0x54})) // lt_u
		})},
		{name: "random numbers", calls: 3, wasm: wasiGuest("random_get", "ii", func(g *w.Guest, call []byte) []byte {
			return w.Cat(g.Must(0, w.Const(w.Buffer), w.Const(4), call), load32(w.Buffer), w.Const(1), []byte{0x72}, w.Return()) // or
		}), same: true},
		{name: "sleep of an hour", wasm: sleeper},
		{name: "standard output", wasm: wasiGuest("fd_write", "iiii", func(g *w.Guest, call []byte) []byte {
			text := g.Text(flood + "\n") // at 0, as the only one
			vector := w.Cat(w.Const(w.Buffer), w.Const(0), []byte{0x36, 2, 0}, w.Const(w.Buffer), w.Const(int32(len(flood)+1)), []byte{0x36, 2, 4})
			return w.Cat(text, w.Repeat(2, w.Drop()), vector, w.Times(5_000, 0, w.Const(1), w.Const(w.Buffer), w.Const(1), w.Const(w.Buffer+16), call, w.Drop()))
		}), holds: bounded},
	}
}

// sleeper sleeps for an hour, which ends at once.
func sleeper() []byte {
	const hour = 3_600_000_000_000
	subscription := make([]byte, 48)
	binary.LittleEndian.PutUint64(subscription[24:], hour)
	return wasiGuest("poll_oneoff", "iiii", func(g *w.Guest, call []byte) []byte {
		g.Data = []w.Data{{Offset: w.Buffer, Bytes: subscription}}
		return g.Must(0, w.Const(w.Buffer), w.Const(w.Buffer+64), w.Const(1), w.Const(w.Buffer+128), call)
	})()
}
