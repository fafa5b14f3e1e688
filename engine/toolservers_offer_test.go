package engine

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A program that never says which servers plugins have holds up no session, and does
// not pile up.
func TestPluginServersThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, asked := make(chan struct{}), make(chan struct{}, 2*maxPluginAsking)
		p, _ := wired(t, func(o *Options) {
			o.ToolServers = map[string]ToolServer{"desk": &taps{}}
			o.PluginServers = func() map[string]ToolServer {
				asked <- struct{}{}
				<-let
				return map[string]ToolServer{"late": &taps{}}
			}
		})
		e := p.session.engine
		for range maxPluginAsking + 3 {
			o := e.offerTools()
			if !o.has("desk") || o.has("late") || len(o.leftOut) != 1 || o.leftOut[0].Rule != "engine.plugin_servers" {
				t.Fatalf("offered %+v", o)
			}
		}
		if len(asked) != maxPluginAsking {
			t.Errorf("asked %d times", len(asked))
		}
		close(let)
		synctest.Wait()
		if o := e.offerTools(); !o.has("late") {
			t.Errorf("offered %+v after it returned", o)
		}
	})
}

// A map that its owner changes after New changes nothing.
func TestToolServersAreCopied(t *testing.T) {
	servers := map[string]ToolServer{"desk": &taps{}}
	p, _ := wired(t, func(o *Options) { o.ToolServers = servers })
	delete(servers, "desk")
	servers["unseen__name"] = nil
	if o := p.session.engine.offerTools(); len(o.servers) != 1 || o.servers[0].name != "desk" {
		t.Errorf("offered %+v", o)
	}
}

// A caller's server must not have the name of a plugin's, nor one that reads as a
// server of ours with a longer tool name, whether or not that one is handed out.
func TestCallersServerThatReadsAsOurs(t *testing.T) {
	p, _ := wired(t, func(o *Options) {
		o.ToolServers = map[string]ToolServer{"own": &taps{}}
		o.PluginServers = func() map[string]ToolServer { return map[string]ToolServer{"plug": &taps{}, "none": nil} }
	})
	for name, want := range map[string]string{
		"own": "of Gatehouse itself", "plug": "of a plugin", "none": "of a plugin", "other": "",
		"own__x": "no name of a server", "own__": "no name of a server", "plug__x": "no name of a server", "own_": "no name of a server",
	} {
		raw := []byte(`{"` + name + `":{"command":"x"}}`)
		err := validateServers(raw)
		if err == nil {
			s := p.session.engine.newSession(StartParams{McpServers: raw}, "")
			err = s.refuseTaken()
			s.end(err)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	l := &serverList{taken: map[string]bool{}, ours: p.session.offer()}
	servers := membersOf([]byte(`{"own__x":{"command":"x"},"plug":{"command":"x"},"none":{"command":"x"},"own":{"command":"x"},"fine":{"command":"x"}}`))
	l.add(sourceUser, servers)
	if len(l.found) != 1 || l.found[0].name != "fine" {
		t.Errorf("found %+v", l.found)
	}
	if names := p.session.serverNames(); slices.Contains(names, "none") {
		t.Errorf("names %v", names)
	}
}
