package plugins

import (
	"os"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }
