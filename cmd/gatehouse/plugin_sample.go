package main

import (
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginSamples are documents as a session might show them, by hook. What all documents
// have is put in by the call.
var pluginSamples = map[plugins.Hook]string{
	plugins.SessionAdmit: `{"session":{"id":"sample","cwd":"/project"},"action":"start","parameters":{"prompt":"Fix the parser"},"cwd":"/project","additional_dirs":[],"running_sessions":0}`,
	plugins.PrePermission: `{"session":{"id":"sample","cwd":"/project","mode":"default","turn":1},"tool_name":"Bash","tool_use_id":"sample",` +
		`"tool_input":{"command":"git push origin main"},"door":"ask"}`,
	plugins.PostTool:     `{"session":{"id":"sample","cwd":"/project"},"tool_name":"Bash","kind":"tool_result","sink":"model","is_error":false,"payload":{"stdout":"built in 3 s on build1.example.com","stderr":""}}`,
	plugins.RedactHook:   `{"session":{"id":"sample","cwd":"/project"},"kind":"output","sink":"event","is_error":false,"payload":{"text":"built in 3 s on build1.example.com"}}`,
	plugins.SessionEvent: `{"session":{"id":"sample","cwd":"/project"},"event":{"id":1,"type":"result","timestamp":"2026-01-02T03:04:05Z","data":{"totalCostUsd":0.25}}}`,
	plugins.ToolsList:    `{}`,
}

// sample is the document of a sample call. tools are those the plugin offers.
func sample(hook plugins.Hook, tools []string) json.RawMessage {
	if hook != plugins.ToolsCall {
		return json.RawMessage(pluginSamples[hook])
	}
	tool := "none"
	if len(tools) > 0 {
		tool = tools[0]
	}
	return fmt.Appendf(nil, `{"session":{"id":"sample","cwd":"/project"},"tool":%q,"arguments":{}}`, tool)
}
