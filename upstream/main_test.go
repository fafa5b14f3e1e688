package upstream

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "be-a-server" {
		beServer(os.Args[2])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "be-crashing" {
		beCrashing(os.Args[2])
		return
	}
	os.Exit(testleak.Run(m, "engine/cli.init.func")) // the thread that starts processes
}

// inBubble is synctest.Test, whose bubble ends after the workers of tools.
func inBubble(t *testing.T, f func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * workers.Idle) }) // the last one
		f(t)
	})
}
