package main

import (
	"os"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
)

// scriptedCommand plays a scripted CLI: what demo runs in the place of the real
// one. It is no part of the interface and help does not list it.
const scriptedCommand = "scripted-cli"

func (c *command) scripted(args []string) int {
	return script.Main(args, c.stdin, c.stdout, c.stderr)
}

// demoCommand is how this program starts itself as the scripted CLI.
func demoCommand() (executable string, args []string, err error) {
	executable, err = os.Executable()
	return executable, []string{scriptedCommand, "--scenario-builtin", "demo"}, err
}
