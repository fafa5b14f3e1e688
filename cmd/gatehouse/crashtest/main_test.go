//go:build unix

package crashtest

import (
	"os"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }
