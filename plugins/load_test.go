package plugins

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

func TestLoadRefuses(t *testing.T) {
	odd := func(change func(g *w.Guest)) []byte {
		g := w.NewGuest()
		change(g)
		return g.Bytes()
	}
	v2 := odd(func(g *w.Guest) {
		g.Imports[0].Module = "gatehouse.hook.v2"
		g.Hook("redact")
	})
	missing := odd(func(g *w.Guest) {
		g.Imports = append(g.Imports, w.Import{Module: "env", Name: "now", Type: w.HookType}, w.Import{Module: ABI, Name: "http"}, w.Import{Module: wasi, Name: "proc_exit"})
		g.Hook("redact")
	})
	typed := odd(func(g *w.Guest) {
		g.Export("pre_permission", g.Add(w.Func{Type: w.Type{Params: []byte{w.I32}, Results: []byte{w.I64}}, Body: w.Const64(0)}))
	})
	started := func(code ...[]byte) []byte {
		return odd(func(g *w.Guest) {
			start := g.Add(w.Func{Body: w.Cat(code...)})
			g.Start = &start
			g.Hook("redact")
		})
	}
	for name, test := range map[string]struct {
		wasm   []byte
		change func(c *Config)
		want   []string
	}{
		"version":        {v2, nil, []string{`plugin "g": imports gatehouse.hook.v2, this server offers gatehouse.hook.v1`}},
		"imports":        {missing, nil, []string{"imports env.now() -> i32, gatehouse.hook.v1.http() -> (), wasi_snapshot_preview1.proc_exit() -> (), which this server does not offer"}},
		"type of a hook": {typed, nil, []string{"exports pre_permission(i32) -> i64, want () -> i32", "exports no hook"}},
		"no hook":        {odd(func(*w.Guest) {}), nil, []string{"exports no hook: want at least one of session_admit, pre_permission"}},
		"no memory":      {odd(func(g *w.Guest) { g.Hook("redact"); g.Exports = g.Exports[1:] }), nil, []string{"exports no memory"}},
		"hooks":          {w.Deny("pre_permission", ""), func(c *Config) { c.Hooks = []Hook{RedactHook, PrePermission} }, []string{"hooks names redact, which it does not export; it exports pre_permission"}},
		"half a tool":    {w.Hook("tools_call"), nil, []string{"exports only one of tools_list and tools_call"}},
		"pin":            {w.Hook("redact"), func(c *Config) { c.SHA256 = strings.Repeat("0", 64) }, []string{"sha256 is ", ", config pins 000000", "if the new file is meant, pin it"}},
		"file":           {nil, func(c *Config) { c.Path += "x" }, []string{"no such file", "build it, or correct path"}},
		"memory":         {odd(func(g *w.Guest) { g.Hook("redact"); g.Memories[0].Min = 3 }), func(c *Config) { c.Memory = 2 << 16 }, []string{"needs 192 KiB of memory to begin, memory allows 128 KiB"}},
		"start traps":    {started(w.Trap()), nil, []string{"making an instance: trapped: unreachable"}},
		"start loops":    {started(w.Forever()), func(c *Config) { c.Timeout = 50 * time.Millisecond }, []string{"making an instance: stopped after 50ms (timeout = 50ms, memory = 32 MiB)"}},
		"start speaks":   {started(w.Const(2), w.Const(0), w.Const(0), w.Call(w.VerdictFunc), w.Drop()), nil, []string{"verdict is for session_admit and pre_permission only"}},
		"redacted":       {w.Hook("redact"), func(c *Config) { c.Redacted = true }, []string{"nothing to redact them with"}},
		"no module":      {[]byte("#!/bin/sh"), nil, []string{`plugin "g": `}},
	} {
		t.Run(name, func(t *testing.T) {
			c := guest(t, "g", test.wasm)
			if test.change != nil {
				test.change(&c)
			}
			h, err := Load(t.Context(), Options{Plugins: []Config{c}})
			if err == nil {
				_ = h.Close(t.Context())
				t.Fatal("it loads")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %v, want %s", err, want)
				}
			}
		})
	}
}

func TestLoadTellsAll(t *testing.T) {
	good := guest(t, "good", w.Hook("redact"))
	_, err := Load(t.Context(), Options{Plugins: []Config{guest(t, "a", []byte("1")), good, guest(t, "b", []byte("2"))}})
	if err == nil || !strings.Contains(err.Error(), `plugin "a": `) || !strings.Contains(err.Error(), `plugin "b": `) || strings.Contains(err.Error(), "good") {
		t.Errorf("error is %v", err)
	}
	if _, err := Load(t.Context(), Options{Plugins: []Config{good, good}}); err == nil || !strings.Contains(err.Error(), `plugin "good": the name is there twice`) {
		t.Errorf("one name twice: %v", err)
	}
	if _, err := Load(t.Context(), Options{Plugins: make([]Config, MaxPlugins+1)}); err == nil || !strings.Contains(err.Error(), "there are 33, at most 32") {
		t.Errorf("too many: %v", err)
	}
}

func TestConfigCheck(t *testing.T) {
	good := Config{Name: "g", Path: "/g.wasm", AllowUnpinned: true}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(c *Config){
		`plugin "G": name: want`:            func(c *Config) { c.Name = "G" },
		`path "g.wasm": want an absolute`:   func(c *Config) { c.Path = "g.wasm" },
		"sha256 is missing":                 func(c *Config) { c.AllowUnpinned = false },
		`sha256 "12": want 64`:              func(c *Config) { c.SHA256 = "12" },
		`hooks: "x" is unknown`:             func(c *Config) { c.Hooks = []Hook{"x"} },
		`hooks: "redact" is there twice`:    func(c *Config) { c.Hooks = []Hook{RedactHook, RedactHook} },
		"come together":                     func(c *Config) { c.Hooks = []Hook{ToolsCall} },
		`binding "allow": want`:             func(c *Config) { c.Binding = "allow" },
		`on_error "allow": want`:            func(c *Config) { c.OnError = "allow" },
		"timeout 11s: want 1ms to 10s":      func(c *Config) { c.Timeout = 11 * time.Second },
		"timeout -1s: want":                 func(c *Config) { c.Timeout = -time.Second },
		"tool_timeout 1h0m0s: want":         func(c *Config) { c.ToolTimeout = time.Hour },
		"memory of 65537 bytes: want whole": func(c *Config) { c.Memory = 65537 },
		"at most 512 MiB":                   func(c *Config) { c.Memory = MaxMemory + 65536 },
		`data "a..b": want names`:           func(c *Config) { c.Data = []string{"a..b"} },
		"data: 65 paths":                    func(c *Config) { c.Data = make([]string, 65) },
		"config is an array":                func(c *Config) { c.Config = []byte("[]") },
		"config is no JSON":                 func(c *Config) { c.Config = []byte("{") },
	} {
		c := good
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// TestDeadline stops a guest, which is not used again although the plugin is reused.
func TestDeadline(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission", w.Forever())
	g.Hook("session_admit")
	for _, reuse := range []bool{false, true} {
		h := oneGuest(t, g.Bytes(), func(c *Config) { c.Reuse, c.Timeout, c.OnError = reuse, 50*time.Millisecond, ErrorAsks })
		_, err := try(t, h, PrePermission, `{}`)
		if err == nil || err.Error() != `plugin "g": stopped after 50ms in pre_permission (on_error = ask)` {
			t.Errorf("reuse = %v: %v", reuse, err)
		}
		h.inForce()[0].config.Timeout = MaxTimeout // of a busy machine
		if _, err := try(t, h, SessionAdmit, `{}`); err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
}

// TestCancelled ends a call with its caller, which is no failure of the plugin.
func TestCancelled(t *testing.T) {
	h := oneGuest(t, w.Hook("pre_permission", w.Forever()))
	for range UnhealthyAfter + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // ends with the call
			for len(h.slots) == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := h.Try(ctx, "g", PrePermission, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if !h.Plugins()[0].Healthy {
		t.Error("cancelled calls made it unhealthy")
	}
}

func TestReuse(t *testing.T) {
	g := w.NewGuest()
	count := w.Cat(w.Const(8000), w.Const(8000), []byte{0x2d, 0, 0}, w.Const(1), []byte{0x6a, 0x3a, 0, 0}, // memory[8000]++
		w.Const(8000), []byte{0x2d, 0, 0}, w.Return())
	g.Hook("pre_permission", count)
	g.Hook("session_admit", w.Const(0), w.Drop(), w.Const(8000), w.Const(8000), []byte{0x2d, 0, 0}, w.Const(1), []byte{0x6a, 0x3a, 0, 0},
		g.Annotate("n", "1"), w.Const(8000), []byte{0x2d, 0, 0}, w.Const(3), []byte{0x46}, w.If(g.Verdict(w.DenyKind, "three"))) // eq
	for _, reuse := range []bool{false, true} {
		h := oneGuest(t, g.Bytes(), func(c *Config) { c.Reuse = reuse })
		last := ""
		for range 3 {
			o, err := try(t, h, SessionAdmit, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			last = o.Reason
		}
		if (last == "three") != reuse {
			t.Errorf("reuse = %v: its memory says %q", reuse, last)
		}
	}
}

// TestManyCalls looks at what calls leave behind: instances and memory.
func TestManyCalls(t *testing.T) {
	h := oneGuest(t, w.DenyWith("pre_permission", "/tool_name"))
	p, d := h.inForce()[0], newDocument(PrePermission, members{"tool_name": []byte(`"Bash"`)})
	calls := func(n int) int64 {
		for range n {
			if o, err := p.call(t.Context(), PrePermission, d, "s"); err != nil || o.Reason != "Bash" {
				t.Fatal(o, err)
			}
		}
		return heapInUse()
	}
	before := calls(2000)
	after := calls(manyCalls(t))
	if grown := after - before; grown > 8<<20 {
		t.Errorf("%d bytes more are in use after the calls", grown)
	}
	if len(p.running) != 0 || len(h.slots) != 0 {
		t.Errorf("%d calls and %d slots are left", len(p.running), len(h.slots))
	}
}
