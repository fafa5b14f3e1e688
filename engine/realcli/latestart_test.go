package realcli

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
)

// TestLateStartTellsItsLimit: a start that takes too long says so, also where the CLI
// answers its interrupt, in the middle of a hook, with a result that has no reason.
func TestLateStartTellsItsLimit(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("never said"))
	var begun atomic.Bool
	release := make(chan struct{})
	l.open(func(o *engine.Options) {
		o.Mentions = func(string) []string {
			if begun.Load() { // by the hook of the prompt
				select {
				case <-release:
				case <-time.After(patience / 2):
				}
			}
			return nil
		}
	})
	turn, err := l.engine.Begin(t.Context(), engine.StartParams{Prompt: "look @ it", SessionInitTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	begun.Store(true)
	<-turn.Done()
	close(release)
	r := turn.Result()
	if !r.IsError || r.Code != engine.Timeout || !strings.Contains(r.Result, "did not start within 5s") {
		t.Errorf("result %+v:\n%s", r, dump(turn.Session()))
	}
}
