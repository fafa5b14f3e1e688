package plugins

import (
	"testing"
	"time"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// deep calls itself so many times, and comes back.
func deep(times int32) []byte {
	g := w.NewGuest()
	f := g.Imported() + 1
	g.Hook(pre, w.Const(times), w.Call(f))
	g.Add(w.Func{Type: w.Type{Params: []byte{w.I32}}, Body: w.Cat(w.LocalGet(0), w.If(w.LocalGet(0), w.Const(1), []byte{0x6b}, w.Call(f)))})
	return g.Bytes()
}

// TestReusedInstanceGivesItsStackBack: a stack that has grown is not kept for the
// next call; one that has not is.
func TestReusedInstanceGivesItsStackBack(t *testing.T) {
	for times, kept := range map[int32]bool{10: true, 100_000: false} {
		h := oneGuest(t, deep(times), func(c *Config) { c.Reuse = true })
		for range 3 {
			if _, err := try(t, h, PrePermission, "{}"); err != nil {
				t.Fatal(err)
			}
		}
		i := h.inForce()[0].spare.take()
		if i == nil {
			t.Fatal("no instance waits")
		}
		if (i.hooks[PrePermission] != nil) != kept {
			t.Errorf("%d calls deep: its stack is kept: %v", times, !kept)
		}
		i.close()
	}
}

// TestIdleInstancesAreBounded has instances that take much beside their memory, or
// much memory. What waits is bounded, and calls are made all the same.
func TestIdleInstancesAreBounded(t *testing.T) {
	tables := func(g *w.Guest) {
		for range 16 {
			g.Tables = append(g.Tables, w.Table{Limits: w.Limits{Min: 100_000}})
		}
	}
	large := func(g *w.Guest) { g.Memories = []w.Limits{{Min: 1000}} }
	for name, change := range map[string]func(*w.Guest){"tables": tables, "memory": large} {
		t.Run(name, func(t *testing.T) {
			g := w.NewGuest()
			change(g)
			g.Hook(pre)
			var list []Config
			for i := range 12 {
				list = append(list, having(guest(t, "g"+string(rune('a'+i)), g.Bytes()), func(c *Config) { c.Memory = 64 << 20 }))
			}
			h, _ := start(t, Options{Plugins: list})
			for range 3 {
				for _, said := range h.Annotate(t.Context(), bash("ls")) {
					if said.Error != "" {
						t.Fatal(said.Error)
					}
				}
			}
			p := h.inForce()[0]
			if p.code.least < 12<<20 {
				t.Fatalf("an instance takes %d bytes", p.code.least)
			}
			for h.idle.Load() < p.code.least {
				time.Sleep(time.Millisecond)
			}
			if got := h.idle.Load(); got > MaxIdleMemory || got%p.code.least != 0 {
				t.Errorf("%d bytes wait, of %d each", got, p.code.least)
			}
		})
	}
}
