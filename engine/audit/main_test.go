package audit

import (
	"os"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain also plays the server that the crash test kills.
func TestMain(m *testing.M) {
	if folder := os.Getenv("AUDIT_CRASH_FOLDER"); folder != "" {
		crashing(folder)
	}
	os.Exit(testleak.Run(m))
}
