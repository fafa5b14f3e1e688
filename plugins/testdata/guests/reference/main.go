// One guest in each language does the same, for the same test.
package main

import (
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

//go:wasmexport session_admit
func sessionAdmit() int32 {
	if pdk.Int("/config/level") > 2 {
		return pdk.Ask("level is over 2")
	}
	pdk.Allow("fine")
	return pdk.Pass() // the strictest verdict holds
}

//go:wasmexport pre_permission
func prePermission() int32 {
	switch pdk.Str("/tool_name") {
	case "Bash":
	case "Count":
		pdk.AnnotateInt("events", pdk.KVInt("events"))
		return pdk.Pass()
	default:
		return pdk.Pass()
	}
	command := pdk.Str("/tool_input/command")
	if len(command) > 4095 {
		return pdk.Deny("too large")
	}
	pdk.AnnotateStr("command", command)
	for _, text := range pdk.Items("/config/forbidden") {
		if strings.Contains(command, text) {
			return pdk.Deny(text)
		}
	}
	return pdk.Pass()
}

// sessionEvent counts events in kv.
//
//go:wasmexport session_event
func sessionEvent() int32 {
	pdk.KVAdd("events", 1)
	pdk.Info("counted")
	return 0
}

//go:wasmexport redact
func redact() int32 {
	var edits pdk.Edits
	if pdk.Has("/payload/secret") {
		edits.Mask("/secret", 0, len(pdk.Str("/payload/secret")), "all")
	}
	return edits.Done()
}

//go:wasmexport tools_list
func toolsList() int32 {
	return pdk.Tools(pdk.Tool{
		Name: "echo", Description: "Repeats a text.",
		Schema: `{"type":"object","properties":{"text":{"type":"string"}}}`,
	})
}

//go:wasmexport tools_call
func toolsCall() int32 {
	if !pdk.Has("/arguments/text") {
		return pdk.Fail("text is missing")
	}
	return pdk.Text(pdk.Str("/arguments/text"))
}

func main() {}
