package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// Tools that changed between two turns are read before the second, once; a CLI that
// asks by itself is not troubled.
func TestChangedToolsAreReadBeforeTheNextTurn(t *testing.T) {
	const again = "tools/call " + handshakeSeen + " tools/call"
	for name, c := range map[string]struct {
		version, want, notWant string
	}{
		"a CLI that does not ask": {"2.1.197", again, again + " initialize"},
		"a CLI that asks":         {"2.1.329", "tools/list tools/call tools/list tools/call", "initialize notifications/initialized tools/list tools/call initialize"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := `[` + say("a") + `,{"text":"said"}]`
			h, a, b := withServers(t, `{"version":"`+c.version+`","turns":[`+turn+`,`+turn+`,`+turn+`]}`, nil)
			s := h.mustStart()
			h.ended(s, "said")
			if err := a.link(0).push(json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)); err != nil {
				t.Fatal(err)
			}
			if c.version != "2.1.197" {
				h.until(s, "the new list", func() bool { return strings.Count(a.link(0).seen(), "tools/list") == 2 })
			}
			for range 2 {
				if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "again"}); err != nil {
					t.Fatal(err)
				}
				h.ended(s, "said")
			}
			if got := a.link(0).seen(); !strings.Contains(got, c.want) || strings.Contains(got, c.notWant) || strings.Count(got, "tools/call") != 3 {
				t.Errorf("the server saw %s", got)
			}
			if a.connections() != 1 || b.connections() != 1 {
				t.Errorf("%d and %d connections, want one each", a.connections(), b.connections())
			}
		})
	}
}

// A change that nobody can be told of is no reason to wait for ever, or to fail.
func TestChangedToolsThatAreNotRead(t *testing.T) {
	h, a, _ := withServers(t, `{"turns":[[`+say("a")+`,{"text":"said"}],[`+say("b")+`,{"text":"said"}]]}`, nil)
	a.trouble = func(method string) {
		if method == "tools/call" { // a change in mid-turn waits for the next
			if err := a.link(0).push(json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)); err != nil {
				t.Error(err)
			}
		}
	}
	s := h.mustStart()
	h.ended(s, "said")
	if got := a.link(0).seen(); strings.Count(got, "tools/list") != 1 {
		t.Errorf("the list was read in mid-turn: %s", got)
	}
	a.trouble = func(method string) {
		if method == "initialize" {
			panic("a server that cannot begin anew")
		}
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "again"}); err != nil {
		t.Fatal(err)
	}
	h.ended(s, "said")
	if !strings.Contains(dump(s), "tools that came or went") {
		t.Errorf("nothing is told of the list that was not read:\n%s", dump(s))
	}
}
