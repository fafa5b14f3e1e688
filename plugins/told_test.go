package plugins

import (
	"context"
	"fmt"
	"strings"
	"testing"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// TestLoadErrorsAreBounded has modules whose names are long, many and made to be
// taken for something else in a terminal: they stand in errors of loading.
func TestLoadErrorsAreBounded(t *testing.T) {
	name := func(i int) string { return fmt.Sprint(i) + "\x1b[2J\u202e" + strings.Repeat("n", 4000) }
	wide := w.Type{}
	for range 256 {
		wide.Params = append(wide.Params, w.ExternRef)
	}
	wide.Results = wide.Params
	body := w.Repeat(256, w.Trap())
	for what, change := range map[string]func(m *w.Module){
		"imports": func(m *w.Module) {
			for i := range 900 {
				m.Imports = append(m.Imports, w.Import{Module: "env", Name: name(i), Type: wide})
			}
		},
		"versions": func(m *w.Module) {
			for i := range 900 {
				m.Imports = append(m.Imports, w.Import{Module: abiFamily + name(i), Name: "get"})
			}
		},
		"import that is no function": func(m *w.Module) {
			m.Imports = append(m.Imports, w.Import{Module: name(0), Name: name(1), Desc: []byte{2, 0, 1}})
		},
		"exports": func(m *w.Module) {
			f := m.Add(w.Func{Type: wide, Body: body})
			for _, hook := range Hooks[1:] {
				if hook != PrePermission {
					m.Export(string(hook), f)
				}
			}
			m.Exports = append(m.Exports, w.Export{Name: name(0), Kind: w.KindTable})
		},
		"hooks of another type": func(m *w.Module) {
			f := m.Add(w.Func{Type: wide, Body: body})
			for _, hook := range Hooks {
				if hook != PrePermission {
					m.Export(string(hook), f)
				}
			}
		},
		"what does not compile": func(m *w.Module) {
			f := m.Add(w.Func{Type: w.HookType, Body: w.Const64(1)})
			for i := range 900 {
				m.Export(name(i), f)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			h, err := Load(context.Background(), Options{Plugins: []Config{guest(t, "g", withModule(change)())}})
			if err == nil {
				h.Close(context.Background())
				t.Fatal("it loads")
			}
			if text := err.Error(); len(text) > 20_000 || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%d bytes: %.300q", len(text), text)
			}
		})
	}
}

// TestNewsAreInOrder has a plugin fail while it is replaced: what is told of it last
// is what holds.
func TestNewsAreInOrder(t *testing.T) {
	var news []string
	bad := guest(t, "g", trap(pre))
	h, _ := start(t, Options{Plugins: []Config{bad}, Told: func(n News) { news = append(news, string(n.Kind)) }})
	plugins, release := h.hold(PrePermission)
	if err := h.Reload(t.Context(), []Config{having(bad, func(c *Config) { c.Order = 1 })}); err != nil {
		t.Fatal(err)
	}
	for range UnhealthyAfter {
		if _, err := plugins[0].call(t.Context(), PrePermission, newDocument(PrePermission, nil), ""); err == nil {
			t.Fatal("it works")
		}
	}
	release()
	if want := "loaded loaded"; strings.Join(news, " ") != want {
		t.Errorf("news are %q, want %s: the plugin that fails is no longer in force", news, want)
	}
}
