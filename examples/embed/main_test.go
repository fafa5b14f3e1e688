package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
)

// TestMain lets this binary be the CLI, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(os.TempDir(), "gatehouse-test-no-config"))
	os.Exit(m.Run())
}

// TestRun: the model calls the tool and a command; the one runs here, the other does
// not run.
func TestRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const scenario = `{"turns":[[
		{"tool":{"name":"mcp__shop__price","input":{"name":"lamp"},"expect":{"contains":["25 euros"]}}},
		{"tool":{"name":"mcp__shop__price","input":{"name":"moon"},"expect":{"contains":["no article"],"is_error":true}}},
		{"tool":{"name":"Bash","input":{"command":"touch made"}}},
		{"text":"A lamp costs 25 euros."}]]}`
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	o := engine.Options{Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file}, Roots: []string{dir}}
	if err := run(ctx, o, "What does a lamp cost?", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\nA lamp costs 25 euros.\n") || strings.Count(out.String(), " tool_result\n") < 2 {
		t.Errorf("output:\n%s", &out)
	}
}
