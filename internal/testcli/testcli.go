// Package testcli finds the Claude Code CLI that tests may run. Nothing but
// tests imports it.
package testcli

import (
	"os"
	"testing"
)

// The variables: where the CLI is, and "1" where a test without it has to fail.
const (
	Variable = "GATEHOUSE_REAL_CLI"
	Required = "GATEHOUSE_REQUIRE_REAL_CLI"
)

const how = Variable + ` is not set: install with "npm install --prefix DIR @anthropic-ai/claude-code@2.1.197" and set it to DIR/node_modules/.bin/claude`

// Path returns the CLI's path. Without it the test is skipped, or fails where
// it is required.
func Path(t testing.TB) string {
	t.Helper()
	path := os.Getenv(Variable)
	switch {
	case path != "":
	case os.Getenv(Required) == "1":
		t.Fatal(how)
	default:
		t.Skip(how)
	}
	return path
}
