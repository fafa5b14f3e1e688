// No-rm is the plugin that the guide shows: the smallest that does something.
package main

import (
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

//go:wasmexport pre_permission
func prePermission() int32 {
	if pdk.Str("/tool_name") == "Bash" && strings.Contains(pdk.Str("/tool_input/command"), "rm -rf") {
		return pdk.Deny("rm -rf is not allowed here")
	}
	return pdk.Pass()
}

func main() {}
