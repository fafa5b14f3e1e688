package plugins

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// far is an address outside of a guest's memory.
const far = 1 << 20

// TestABICodes has guests look at what functions return. The ones that keep silent
// about it fail all the same where the host says so.
func TestABICodes(t *testing.T) {
	long := strings.Repeat("x", MaxReason+1)
	for name, test := range map[string]struct {
		hook Hook
		code func(g *w.Guest) []byte
		want string // of the error; empty: none
	}{
		"get, missing":    {PrePermission, func(g *w.Guest) []byte { return g.Must(-1, g.Get("/none", w.Buffer, 8)) }, ""},
		"get, no pointer": {PrePermission, func(g *w.Guest) []byte { return g.Must(-2, g.Get("hook", w.Buffer, 8)) }, ""},
		"get, path far away": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-2, w.Const(far), w.Const(4), w.Const(0), w.Const(0), w.Call(w.GetFunc))
		}, ""},
		"get, path wraps": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-2, w.Const(-1), w.Const(2), w.Const(0), w.Const(0), w.Call(w.GetFunc))
		}, ""},
		"get, path too long": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-4, w.Const(0), w.Const(-1), w.Const(0), w.Const(0), w.Call(w.GetFunc))
		}, ""},
		"get, to far away":     {PrePermission, func(g *w.Guest) []byte { return g.Must(-2, g.Get("/hook", far, 100)) }, ""},
		"get, to the end":      {PrePermission, func(g *w.Guest) []byte { return g.Must(-2, g.Get("/hook", 64<<10-13, 100)) }, ""},
		"get, fits to the end": {PrePermission, func(g *w.Guest) []byte { return g.Must(14, g.Get("/hook", 64<<10-14, -1)) }, ""},
		"get, size only":       {PrePermission, func(g *w.Guest) []byte { return g.Must(14, g.Get("/hook", far, 13)) }, ""},

		"verdict, unknown":  {PrePermission, func(g *w.Guest) []byte { return g.Must(-3, w.Const(4), g.Text(""), w.Call(w.VerdictFunc)) }, "verdict 4 is unknown"},
		"verdict, negative": {PrePermission, func(g *w.Guest) []byte { return g.Verdict(-1, "") }, "verdict -1 is unknown"},
		"verdict, long":     {PrePermission, func(g *w.Guest) []byte { return g.Must(-4, w.Const(2), g.Text(long), w.Call(w.VerdictFunc)) }, "has 4097 bytes, at most 4096 are taken"},
		"verdict, far away": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-2, w.Const(2), w.Const(far), w.Const(1), w.Call(w.VerdictFunc))
		}, "out of bounds of its memory"},
		"verdict, no UTF-8":      {PrePermission, func(g *w.Guest) []byte { return g.Must(-3, w.Const(2), g.Text("\xff"), w.Call(w.VerdictFunc)) }, "no valid UTF-8"},
		"verdict, other hook":    {SessionEvent, func(g *w.Guest) []byte { return g.Must(-5, w.Const(2), g.Text(""), w.Call(w.VerdictFunc)) }, "verdict is for session_admit and pre_permission only"},
		"annotate, no JSON":      {PrePermission, func(g *w.Guest) []byte { return g.Must(-3, g.Text("k"), g.Text("{"), w.Call(w.AnnotateFunc)) }, "annotation k is no JSON"},
		"annotate, twice a name": {PrePermission, func(g *w.Guest) []byte { return g.Annotate("k", `{"a":1,"a":2}`) }, `annotation k has the key "a" twice`},
		"annotate, a number of many digits": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-4, g.Text("k"), g.Text(`{"a":["1e9",1e-401]}`), w.Call(w.AnnotateFunc))
		}, "annotation k has the number 1e-401, which policies cannot compare"},
		"annotate, no key": {PrePermission, func(g *w.Guest) []byte { return g.Must(-4, g.Text(""), g.Text("1"), w.Call(w.AnnotateFunc)) }, "the key of an annotation has 0 bytes"},
		"annotate, far away": {PrePermission, func(g *w.Guest) []byte {
			return g.Must(-2, g.Text("k"), w.Const(far), w.Const(1), w.Call(w.AnnotateFunc))
		}, "out of bounds"},
		"annotate, other hook": {RedactHook, func(g *w.Guest) []byte { return g.Must(-5, g.Text("k"), g.Text("1"), w.Call(w.AnnotateFunc)) }, "annotate is for"},
		"output, other hook":   {PrePermission, func(g *w.Guest) []byte { return g.Must(-5, g.Text("{}"), w.Call(w.OutputFunc)) }, "output is not for pre_permission"},
		"output, twice": {RedactHook, func(g *w.Guest) []byte {
			return w.Cat(g.Output(`{"edits":[]}`), g.Must(-4, g.Text("{}"), w.Call(w.OutputFunc)))
		}, "output was given twice"},
		"output, no JSON":       {RedactHook, func(g *w.Guest) []byte { return g.Must(-3, g.Text("nope"), w.Call(w.OutputFunc)) }, "the output is no JSON"},
		"log, level":            {PrePermission, func(g *w.Guest) []byte { return g.Must(-3, w.Const(4), g.Text("x"), w.Call(w.LogFunc)) }, ""},
		"log, far away":         {PrePermission, func(g *w.Guest) []byte { return g.Must(-2, w.Const(0), w.Const(far), w.Const(1), w.Call(w.LogFunc)) }, ""},
		"kv, not allowed":       {PrePermission, func(g *w.Guest) []byte { return g.Must(-5, g.KVSet("k", "v")) }, ""},
		"returns 7":             {PrePermission, func(*w.Guest) []byte { return w.Cat(w.Const(7), w.Return()) }, "returned 7, want 0 in pre_permission (on_error = deny)"},
		"traps after a verdict": {PrePermission, func(g *w.Guest) []byte { return w.Cat(g.Verdict(w.AllowKind, ""), w.Trap()) }, "trapped: unreachable in pre_permission"},
	} {
		t.Run(name, func(t *testing.T) {
			g := w.NewGuest()
			g.Hook(string(test.hook), test.code(g))
			o, err := try(t, oneGuest(t, g.Bytes()), test.hook, `{}`)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), `plugin "g": `) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error is %v, want %s", err, test.want)
			case err != nil && o.Verdict != permission.Abstain:
				t.Errorf("a failed call has a verdict: %+v", o)
			}
		})
	}
}

func TestKVCodes(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission",
		g.Must(-1, g.KVGet("k", w.Buffer, 8)), g.Must(0, g.KVSet("k", "value")),
		g.Must(5, g.KVGet("k", far, 4)), g.Must(-2, g.KVGet("k", far, 5)), g.Must(5, g.KVGet("k", w.Buffer, 5)),
		g.Must(-2, w.Const(1), g.Text("k"), w.Const(far), w.Const(1), w.Call(w.KVFunc)),
		g.Must(-2, w.Const(0), w.Const(far), w.Const(1), w.Const(0), w.Const(0), w.Call(w.KVFunc)),
		g.Must(-4, g.KVSet("", "value")), g.Must(-3, w.Const(3), g.Text("k"), g.Text(""), w.Call(w.KVFunc)),
		g.Must(0, g.KVDelete("k")), g.Must(-1, g.KVDelete("k")))
	h := oneGuest(t, g.Bytes(), func(c *Config) { c.KV = true })
	if _, err := try(t, h, PrePermission, `{"session":{"id":"s"}}`); err != nil {
		t.Error(err)
	}
	if _, err := try(t, h, PrePermission, `{}`); err == nil || !strings.Contains(err.Error(), "returned 101") {
		t.Errorf("without a session: %v", err)
	}
}

func TestVerdictsAndAnnotations(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission",
		g.Verdict(w.AskKind, "ask"), g.Verdict(w.DenyKind, "first"), g.Verdict(w.DenyKind, "second"), g.Verdict(w.PassKind, "pass"),
		g.Annotate("k", "1"), g.Annotate("k", `{"a":[2]}`), g.Annotate("l", "null"))
	o, err := try(t, oneGuest(t, g.Bytes()), PrePermission, `{}`)
	if err != nil || o.Verdict != permission.Deny || o.Reason != "first" || len(o.Annotations) != 2 ||
		string(o.Annotations["k"]) != `{"a":[2]}` || string(o.Annotations["l"]) != "null" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestAnnotationsAreBounded(t *testing.T) {
	text := `"` + strings.Repeat("x", 20<<10) + `"`
	fits, over := w.NewGuest(), w.NewGuest()
	same := fits.Annotate("a", text)
	fits.Hook("pre_permission", w.Repeat(10, same), fits.Annotate("b", "1"))
	much := over.Annotate("a", text)
	over.Hook("pre_permission", much, w.Times(4, 0, w.Const(5), w.LocalGet(0), w.Const('a'), []byte{0x6a, 0x3a, 0, 0}, // memory[5] = 'a' + local: another key
		w.Const(5), w.Const(1), over.Text(text), w.Call(w.AnnotateFunc), w.Drop()))
	if _, err := try(t, oneGuest(t, fits.Bytes()), PrePermission, `{}`); err != nil {
		t.Errorf("one key again and again: %v", err)
	}
	if _, err := try(t, oneGuest(t, over.Bytes()), PrePermission, `{}`); err == nil || !strings.Contains(err.Error(), "annotations have more than 65536 bytes") {
		t.Errorf("four keys: %v", err)
	}
}

func TestLogIsBounded(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission", g.Log(w.Warn, "a\x1b[2J\nb"), w.Times(1000, 0, g.Log(w.Debug, "line")))
	g.Hook("session_admit", w.Times(5, 0, g.Log(w.Error, strings.Repeat("x", 20<<10))))
	h := oneGuest(t, g.Bytes())
	o, err := try(t, h, PrePermission, `{}`)
	if err != nil || len(o.Log) != MaxLogLines+1 || o.Log[0] != `warn: a\x1b[2J\nb` || o.Log[MaxLogLines] != "warn: 801 lines were over the limit" {
		t.Errorf("%v, %d lines: %.300q", err, len(o.Log), o.Log)
	}
	o, err = try(t, h, SessionAdmit, `{}`)
	if size := len(strings.Join(o.Log, "")); err != nil || size < MaxLog || size > MaxLog+200 {
		t.Errorf("%v, %d bytes", err, size)
	}
}

// TestWASI has a guest write, sleep for an hour and exit.
func TestWASI(t *testing.T) {
	i32 := func(n int) []byte { return []byte(strings.Repeat(string(rune(w.I32)), n)) }
	g := w.NewGuest()
	write := g.Imported()
	g.Imports = append(g.Imports,
		w.Import{Module: wasi, Name: "fd_write", Type: w.Type{Params: i32(4), Results: i32(1)}},
		w.Import{Module: wasi, Name: "poll_oneoff", Type: w.Type{Params: i32(4), Results: i32(1)}},
		w.Import{Module: wasi, Name: "environ_sizes_get", Type: w.Type{Params: i32(2), Results: i32(1)}},
		w.Import{Module: wasi, Name: "path_open", Type: w.Type{Params: slices.Concat(i32(5), []byte{w.I64, w.I64}, i32(2)), Results: i32(1)}},
		w.Import{Module: wasi, Name: "proc_exit", Type: w.Type{Params: i32(1)}})
	poll, environ, open, exit := write+1, write+2, write+3, write+4
	text := g.Text("hello\nworld")[1] // its address, a small constant
	store := func(at, value int32) []byte { return w.Cat(w.Const(at), w.Const(value), []byte{0x36, 2, 0}) }
	g.Hook("pre_permission",
		store(1000, int32(text)), store(1004, 11),
		g.Must(0, w.Const(1), w.Const(1000), w.Const(1), w.Const(1008), w.Call(write)),
		g.Must(8, w.Const(3), w.Const(1000), w.Const(1), w.Const(1008), w.Call(write)),
		g.Must(28, w.Const(1), w.Const(1000), w.Const(-1), w.Const(1008), w.Call(write)),
		g.Must(28, w.Const(1), w.Const(far), w.Const(1), w.Const(1008), w.Call(write)),
		store(2028, 1<<30), // of nanoseconds, times four billions
		g.Must(0, w.Const(2000), w.Const(3000), w.Const(1), w.Const(1008), w.Call(poll)),
		g.Must(28, w.Const(2000), w.Const(3000), w.Const(1000000), w.Const(1008), w.Call(poll)),
		store(1008, 1), store(1012, 1),
		g.Must(0, w.Const(1008), w.Const(1012), w.Call(environ)),
		w.Const(1008), []byte{0x28, 2, 0}, w.If(w.Trap()),
		g.Must(52, w.Repeat(5, w.Const(0)), w.Const64(0), w.Const64(0), w.Const(0), w.Const(0), w.Call(open)),
	)
	g.Hook("session_admit", g.Verdict(w.AllowKind, ""), w.Const(0), w.Call(exit))
	h := oneGuest(t, g.Bytes())
	o, err := try(t, h, PrePermission, `{}`)
	if err != nil || !slices.Equal(o.Log, []string{"info: hello", "info: world"}) {
		t.Errorf("%q, %v", o.Log, err)
	}
	o, err = try(t, h, SessionAdmit, `{}`)
	if err == nil || !strings.Contains(err.Error(), "exited with status 0, where only a return counts") || o.Verdict != permission.Abstain {
		t.Errorf("after proc_exit(0): %+v, %v", o, err)
	}
}
