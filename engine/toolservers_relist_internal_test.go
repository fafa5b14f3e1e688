package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
)

// stale is a process whose server "a" has changed its list since the CLI read it.
func stale(t *testing.T) (*process, cliStream) {
	p, a, c := pushing(t)
	p.sent("a", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, func(string) {})
	a.replies[1](json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`))
	if err := a.push(json.RawMessage(listChanged)); err != nil {
		t.Fatal(err)
	}
	c.acknowledge(t, <-c.wrote)
	return p, c
}

// relisting runs relist; done is closed when it has returned.
func relisting(p *process) (done chan struct{}) {
	done = make(chan struct{})
	go func() { // ends with relist, which is bounded
		defer close(done)
		p.relist()
	}()
	return done
}

// A CLI that is slow to let go of the servers is given them back all the same: it
// would go on without their tools.
func TestServersAreGivenBackToASlowCLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := stale(t)
		done := relisting(p)
		if took := <-c.wrote; !strings.Contains(took, `"servers":{}`) {
			t.Fatalf("the CLI was told %s", took)
		} // and it says nothing
		gave := <-c.wrote
		if !strings.Contains(gave, `"servers":{"a":{"name":"a","type":"sdk"}}`) {
			t.Errorf("the CLI was told %s", gave)
		}
		c.acknowledge(t, gave)
		<-done
	})
}

// One that refuses keeps what it has.
func TestServersOfACLIThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := stale(t)
		done := relisting(p)
		var m struct {
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(<-c.wrote), &m); err != nil {
			t.Fatal(err)
		}
		c.lines <- json.RawMessage(`{"type":"control_response","response":{"subtype":"error","request_id":"` + m.RequestID + `","error":"unknown subtype"}}`)
		<-done
		if len(c.wrote) != 0 {
			t.Errorf("the CLI was told %s", <-c.wrote)
		}
	})
}

// The end of the process ends it.
func TestRelistEndsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := stale(t)
		done := relisting(p)
		<-c.wrote
		p.end(ended{"test"})
		<-done
		if len(c.wrote) != 0 {
			t.Errorf("the CLI was told %s", <-c.wrote)
		}
	})
}
