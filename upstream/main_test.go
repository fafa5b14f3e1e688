package upstream

import (
	"os"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
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
