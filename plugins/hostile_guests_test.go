package plugins

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// flood is what a guest writes to what it takes for the standard output.
const flood = "FLOODED"

const pre = "pre_permission"

// guestOf is a guest whose hook pre_permission is made with it.
func guestOf(code func(g *w.Guest) []byte) func() []byte {
	return func() []byte {
		g := w.NewGuest()
		body := code(g)
		g.Hook(pre, body)
		return g.Bytes()
	}
}

func hookOf(code ...[]byte) func() []byte { return func() []byte { return w.Hook(pre, code...) } }

func hostileLoop() []byte { return w.Hook(pre, w.Forever()) }

func hostileHealthy() []byte { return w.Deny(pre, "no") }

func soon(c *Config) { c.Timeout = 300 * time.Millisecond }

const stopped = "stopped after 300ms"

func hostileGuests() []hostile {
	var all []hostile
	for _, part := range [][]hostile{hostileLoops(), hostileStraight(), hostileMemory(), hostileCompile(), hostileForms(), hostilePointers(), hostileResults(), hostileWASI()} {
		all = append(all, part...)
	}
	return all
}

func hostileLoops() []hostile {
	return []hostile{
		{name: "loop", wasm: hostileLoop, change: soon, fails: stopped + " in pre_permission (on_error = "},
		{name: "loop that calls", wasm: guestOf(func(g *w.Guest) []byte { return w.Forever(g.Log(w.Info, flood)) }), change: soon, fails: stopped},
		{name: "loop at start", wasm: beginning(true, w.Forever()), change: soon, load: stopped},
		{name: "loop in _initialize", wasm: beginning(false, w.Forever()), change: soon, load: stopped},
		{name: "calls without a loop", wasm: doublingCalls, change: soon, fails: stopped},
		{name: "recursion", wasm: recursion, fails: "stack overflow"},
		{name: "bulk fill in a loop", wasm: hookOf(w.Const(500), w.MemoryGrow(), w.Drop(),
			w.Forever(w.Const(0), w.Const(7), w.Const(500<<16), w.Fill())), change: soon, fails: stopped},
		{name: "reuse after a failure", wasm: trapOnce, change: func(c *Config) { c.Reuse = true }, calls: 3, fails: "trapped: unreachable"},
		{name: "state across calls", wasm: counting, calls: 5},
	}
}

// beginning is a guest that runs code before any call.
func beginning(start bool, code []byte) func() []byte {
	return func() []byte {
		g := w.NewGuest()
		g.Hook(pre)
		f := g.Add(w.Func{Body: code})
		if g.Start = &f; !start {
			g.Start = nil
			g.Export("_initialize", f)
		}
		return g.Bytes()
	}
}

// doublingCalls has 48 functions each of which calls the one before twice.
func doublingCalls() []byte {
	g := w.NewGuest()
	last := g.Add(w.Func{})
	for range 48 {
		last = g.Add(w.Func{Body: w.Repeat(2, w.Call(last))})
	}
	g.Hook(pre, w.Call(last))
	return g.Bytes()
}

func recursion() []byte {
	g := w.NewGuest()
	g.Hook(pre, w.Call(g.Imported()+1))
	g.Add(w.Func{Body: w.Call(g.Imported() + 1)})
	return g.Bytes()
}

func global(g *w.Guest) (get, set []byte) {
	g.Globals = []w.Global{{Type: w.I32, Mutable: true, Init: w.Const(0)}}
	return []byte{0x23, 0}, []byte{0x24, 0}
}

// trapOnce traps where it is called for the first time.
func trapOnce() []byte {
	g := w.NewGuest()
	get, set := global(g)
	g.Hook(pre, get, []byte{0x45}, w.If(w.Const(1), set, w.Trap()))
	return g.Bytes()
}

// counting wants to be called for the first time.
func counting() []byte {
	g := w.NewGuest()
	get, set := global(g)
	g.Hook(pre, get, w.Const(1), []byte{0x6a}, set, g.Must(1, get))
	return g.Bytes()
}

func hostileMemory() []hostile {
	growing := w.Loop(w.Const(1), w.MemoryGrow(), w.Const(-1), []byte{0x47}, w.BrIf(0))
	within := func(o Outcome) string {
		if o.Memory > DefaultMemory {
			return fmt.Sprintf("%d bytes of memory, at most %d are allowed", o.Memory, DefaultMemory)
		}
		return ""
	}
	return []hostile{
		{name: "memory grows to the limit", wasm: hookOf(growing), holds: within},
		{name: "table grows", wasm: tableGrows},
		{name: "memory of 4 GiB", wasm: withModule(func(m *w.Module) { m.Memories = []w.Limits{{Min: 65536}} }), load: "memory has 65536 pages at its start"},
		{name: "memory over the limit", wasm: withModule(func(m *w.Module) { m.Memories = []w.Limits{{Min: 513}} }), load: "needs 32832 KiB of memory to begin"},
		{name: "table of 100 million", wasm: withModule(func(m *w.Module) { m.Tables = []w.Table{{Limits: w.Limits{Min: 100_000_000}}} }), load: "table has 100000000 elements"},
		{name: "stale view", wasm: guestOf(staleView), holds: func(o Outcome) string {
			if got := string(o.Annotations["key"]); got != "12345" {
				return "annotation " + got + ", want 12345 as it was when it was given"
			}
			return ""
		}},
	}
}

// staleView overwrites what it has given to the host, grown and not.
func staleView(g *w.Guest) []byte {
	annotate := g.Annotate("key", "12345")
	overwrite := w.Cat(w.Const(0), w.Const('9'), w.Const(w.Buffer), w.Fill())
	return w.Cat(annotate, overwrite, w.Const(16), w.MemoryGrow(), w.Drop(), overwrite)
}

func tableGrows() []byte {
	g := w.NewGuest()
	g.Tables = []w.Table{{}}
	g.Hook(pre, g.Must(-1, []byte{0xd0, 0x70}, w.Const(200_000_000), []byte{0xfc, 15, 0}))
	return g.Bytes()
}

// withModule is a guest with one part changed.
func withModule(change func(*w.Module)) func() []byte {
	return func() []byte {
		g := w.NewGuest()
		g.Hook(pre)
		change(&g.Module)
		return g.Bytes()
	}
}

// withFunc is a guest with one function more.
func withFunc(locals uint32, body ...[]byte) func() []byte {
	return withModule(func(m *w.Module) {
		m.Add(w.Func{Locals: []w.Locals{{Count: locals, Type: w.I32}}, Body: w.Cat(body...)})
	})
}

func nested(op byte, n int) []byte {
	return w.Cat(w.Repeat(n, []byte{op, 0x40}), w.Repeat(n, []byte{0x0b}))
}

func hostileCompile() []hostile {
	add := []byte{0x20, 0, 0x20, 0, 0x6a, 0x1a}
	return []hostile{
		{name: "4 billion locals", wasm: withFunc(4e9), load: "locals and parameters, at most 10000"},
		{name: "locals and ifs", wasm: withFunc(2000, w.Repeat(5000, w.Const(0), w.If())), load: "their product is over"},
		{name: "locals and nested loops", wasm: withFunc(5000, nested(0x03, 3000)), load: "their product is over"},
		{name: "nested blocks", wasm: withFunc(0, nested(0x02, 40_000)), load: "nested more than 2000 deep"},
		{name: "nested loops", wasm: withFunc(0, nested(0x03, 20_000)), load: "nested more than 2000 deep"},
		{name: "blocks in a row", wasm: withFunc(0, w.Repeat(40_000, w.Block())), load: "too long to compile"},
		{name: "million adds", wasm: withFunc(1, w.Repeat(500_000, add)), load: "at most 131072"},
		{name: "many functions", wasm: withModule(func(m *w.Module) { m.Funcs = append(m.Funcs, make([]w.Func, 200_000)...) }), load: "at most 100000 are allowed"},
		{name: "much that compiles", wasm: withModule(func(m *w.Module) {
			for range 100 {
				m.Add(w.Func{Locals: []w.Locals{{Count: 100, Type: w.I32}}, Body: w.Repeat(600, w.Const(0), w.If())})
			}
		}), load: "functions so far would take too long to compile"},
	}
}

func hostileForms() []hostile {
	importing := func(module, name string, t w.Type) func() []byte {
		return func() []byte {
			g := w.NewGuest()
			g.Imports = append(g.Imports, w.Import{Module: module, Name: name, Type: t})
			g.Hook(pre)
			return g.Bytes()
		}
	}
	return []hostile{
		{name: "unknown import", wasm: importing("env", "system", w.HookType), load: "imports env.system() -> i32, which this server does not offer"},
		{name: "other version", wasm: importing("gatehouse.hook.v2", "get", w.HookType), load: "imports gatehouse.hook.v2, this server offers gatehouse.hook.v1"},
		{name: "import of a hook", wasm: importing("", pre, w.HookType), load: "which this server does not offer"},
		{name: "import of another type", wasm: importing(ABI, "get", w.HookType), load: "get"},
		{name: "names like the host's", wasm: withModule(func(m *w.Module) {
			m.Last = []w.Section{w.Custom("name", w.Cat([]byte{0, byte(len(ABI) + 1)}, w.Name(ABI)))}
		})},
		{name: "memory not exported", wasm: withModule(func(m *w.Module) { m.Exports = m.Exports[1:] }), load: "exports no memory"},
		{name: "memory imported", wasm: withModule(func(m *w.Module) {
			m.Memories = nil
			m.Imports = append(m.Imports, w.Import{Module: "env", Name: "memory", Desc: []byte{2, 0, 1}})
		}), load: "only functions may be imported"},
		{name: "hook of another type", wasm: withModule(func(m *w.Module) {
			m.Export("redact", m.Add(w.Func{Type: w.Type{Params: []byte{w.I32}, Results: []byte{w.I64}}, Body: w.Const64(0)}))
		}), load: "exports redact(i32) -> i64, want () -> i32"},
		{name: "hook that is a memory", wasm: withModule(func(m *w.Module) { m.Exports = append(m.Exports, w.Export{Name: "redact", Kind: w.KindMemory}) }), load: "exports redact"},
		{name: "memory that is a function", wasm: withModule(func(m *w.Module) { m.Exports[0].Kind, m.Exports[0].Index = w.KindFunc, m.Imported() }), load: "exports"},
		{name: "export twice", wasm: withModule(func(m *w.Module) { m.Exports = append(m.Exports, m.Exports[1]) }), load: pre},
		{name: "no hook", wasm: func() []byte { return w.NewGuest().Bytes() }, load: "exports no hook"},
		{name: "no module", wasm: func() []byte { return []byte("#!/bin/sh\necho " + flood) }, load: "is not that of a WebAssembly module"},
	}
}

// anyButTrap stands for an error that is no trap.
const anyButTrap = "(any)"

// extremes are numbers that make sums wrap and pointers leave the memory.
var extremes = []int32{-1, -16, -1 << 31, 1<<31 - 1, 65536, 65535, 1}

func hostilePointers() []hostile {
	get := func(path, size, dst, limit int32) []byte {
		return w.Cat(w.Const(path), w.Const(size), w.Const(dst), w.Const(limit), w.Call(w.GetFunc))
	}
	all := []hostile{
		{name: "get with bad pointers", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(
				g.Must(-2, get(-1, 2, 0, 0)), g.Must(-2, get(-16, 32, 0, 0)), g.Must(-2, get(65535, 2, 0, 0)),
				g.Must(-2, g.Get("/tool_name", -1, 8)), g.Must(-2, g.Get("/tool_name", 65533, -1)),
				g.Must(4, g.Get("/tool_name", 65533, 3)), g.Must(4, g.Get("/tool_name", 65532, 4)),
				g.Must(-1, g.Get("/env/PATH", 0, 0)), g.Must(-2, g.Get("tool_name", 0, 0)))
		})},
		{name: "log with bad pointers", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(
				g.Must(-2, w.Const(0), w.Const(-16), w.Const(32), w.Call(w.LogFunc)),
				g.Must(-3, w.Const(4), w.Const(0), w.Const(0), w.Call(w.LogFunc)),
				g.Must(-3, w.Const(-1), w.Const(0), w.Const(0), w.Call(w.LogFunc)))
		})},
		{name: "kv with bad pointers", change: func(c *Config) { c.KV = true }, wasm: guestOf(func(g *w.Guest) []byte {
			kv := func(op, key, size, val, n int32) []byte {
				return w.Cat(w.Const(op), w.Const(key), w.Const(size), w.Const(val), w.Const(n), w.Call(w.KVFunc))
			}
			return w.Cat(
				g.Must(-2, kv(1, -16, 32, 0, 0)), g.Must(-2, kv(1, 0, 1, -16, 32)), g.Must(-4, kv(1, 0, 1, 0, 65536)),
				g.Must(0, kv(1, 0, 1, 0, 8)), g.Must(-2, kv(0, 0, 1, 65535, 8)), g.Must(8, kv(0, 0, 1, 65535, 7)), g.Must(-3, kv(9, 0, 1, 0, 0)))
		})},
		{name: "verdict with bad pointers", wasm: hookOf(w.Const(1), w.Const(-16), w.Const(32), w.Call(w.VerdictFunc), w.Drop()), fails: "out of bounds"},
		{name: "annotate with bad pointers", wasm: hookOf(w.Const(0), w.Const(1), w.Const(65535), w.Const(2), w.Call(w.AnnotateFunc), w.Drop()), fails: "out of bounds"},
		{name: "output with bad pointers", hook: RedactHook, wasm: func() []byte {
			return w.Hook("redact", w.Const(65536), w.Const(-1), w.Call(w.OutputFunc), w.Drop())
		}, fails: "out of bounds"},
	}
	for f, i := range w.ABIImports() {
		all = append(all, extremeCalls(i, uint32(f)))
	}
	return all
}

// extremeCalls calls one function with every extreme number in every place. What it
// returns does not matter: the host must not panic, which would be told as a trap.
func extremeCalls(i w.Import, f uint32) hostile {
	return hostile{name: "extreme numbers for " + i.Name, wasm: func() []byte {
		var code []byte
		for _, n := range extremes {
			for _, m := range extremes {
				for at := range i.Type.Params {
					arguments := w.Repeat(at, w.Const(m))
					arguments = w.Cat(arguments, w.Const(n), w.Repeat(len(i.Type.Params)-at-1, w.Const(m)))
					code = w.Cat(code, arguments, w.Call(f), w.Drop())
				}
			}
		}
		return w.Hook(pre, code, w.Const(77), w.Return()) // after all of them
	}, fails: anyButTrap, change: func(c *Config) { c.KV = true }}
}

func hostileResults() []hostile {
	return []hostile{
		{name: "trap after a verdict", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(g.Verdict(w.AllowKind, "fine"), g.Annotate("k", "1"), w.Trap())
		}), fails: "trapped: unreachable"},
		{name: "code after a verdict", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(g.Verdict(w.AllowKind, "fine"), w.Const(3), w.Return())
		}), fails: "returned 3, want 0"},
		{name: "trap after an output", hook: RedactHook, wasm: func() []byte {
			g := w.NewGuest()
			g.Hook("redact", g.Output(`{"edits":[]}`), w.Trap())
			return g.Bytes()
		}, fails: "trapped: unreachable"},
		{name: "output twice", hook: RedactHook, wasm: func() []byte {
			g := w.NewGuest()
			g.Hook("redact", w.Repeat(2, g.Output(`{"edits":[]}`)))
			return g.Bytes()
		}, fails: "output was given twice"},
		{name: "output where there is none", wasm: guestOf(func(g *w.Guest) []byte { return g.Output("{}") }), fails: "output is not for pre_permission"},
		{name: "output too large", hook: RedactHook, wasm: func() []byte {
			return w.Hook("redact", w.Const(64), w.MemoryGrow(), w.Drop(), w.Const(0), w.Const(1<<20+1), w.Call(w.OutputFunc), w.Drop())
		}, fails: "at most 1048576 are taken"},
		{name: "unknown verdict", wasm: guestOf(func(g *w.Guest) []byte { return g.Verdict(7, "") }), fails: "verdict 7 is unknown"},
		{name: "looser verdict after a stricter", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(g.Verdict(w.DenyKind, "no"), g.Verdict(w.AllowKind, "yes"), g.Verdict(w.PassKind, ""))
		}), holds: func(o Outcome) string {
			if o.Verdict != permission.Deny || o.Reason != "no" {
				return fmt.Sprintf("%s %q, want the deny", o.Verdict, o.Reason)
			}
			return ""
		}},
		{name: "long reason", wasm: guestOf(func(g *w.Guest) []byte { return g.Verdict(w.AskKind, strings.Repeat("x", 4097)) }), fails: "at most 4096"},
		{name: "reason that is no text", wasm: guestOf(func(g *w.Guest) []byte { return g.Verdict(w.AskKind, "\xff") }), fails: "no valid UTF-8"},
		{name: "annotation flood", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Cat(g.Annotate("a", `"`+strings.Repeat("x", 30_000)+`"`),
				w.Repeat(2, w.Const(0), w.Const(1), w.Const(1), w.Const(30_002), w.Call(w.AnnotateFunc), w.Drop()),
				g.Text("b"), w.Const(1), w.Const(30_002), w.Call(w.AnnotateFunc), w.Drop(),
				g.Text("c"), w.Const(1), w.Const(30_002), w.Call(w.AnnotateFunc), w.Drop())
		}), fails: "annotations have more than 65536 bytes"},
		{name: "annotation that is no JSON", wasm: guestOf(func(g *w.Guest) []byte { return g.Annotate("k", `{"a":}`) }), fails: "annotation k"},
		{name: "log flood", wasm: guestOf(func(g *w.Guest) []byte {
			return w.Times(10_000, 0, w.Const(1), w.Const(0), w.Const(1000), w.Call(w.LogFunc), w.Drop())
		}), holds: bounded},
	}
}

func bounded(o Outcome) string {
	size := 0
	for _, line := range o.Log {
		size += len(line)
	}
	if len(o.Log) == 0 || len(o.Log) > MaxLogLines+1 || size > 8*MaxLog {
		return fmt.Sprintf("%d lines of log with %d bytes", len(o.Log), size)
	}
	return ""
}
