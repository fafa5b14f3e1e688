package script

import (
	"encoding/json"
	"strings"
)

// Demo is the session of the demo command: one call a policy allows, one it
// denies, one it asks about and one whose output must be redacted. It takes
// under three seconds of its own time.
var Demo = Scenario{Turns: [][]Step{{
	{Thinking: "Read the notes first, then clean up, publish and look at the deployment."},
	{SleepMS: 300},
	{Text: "I start with the notes."},
	{Tool: &Tool{
		Name: "Read", Input: map[string]any{"file_path": "${CWD}/README.md"},
		Output: quoted("# Demo project\n\nRun config/deploy.sh to deploy.\n"),
	}},
	{SleepMS: 400},
	{Tool: &Tool{Name: "Bash", Input: map[string]any{"command": "rm -rf /", "description": "free some space"}}},
	{SleepMS: 400},
	{Tool: &Tool{
		Name: "Bash", Input: map[string]any{"command": "git push origin main", "description": "publish the branch"},
		Output: quoted("To example.com:demo.git\n   1f2e3d4..5a6b7c8  main -> main"), DurationMS: 200,
	}},
	{SleepMS: 400},
	{Tool: &Tool{
		Name: "Bash", Input: map[string]any{"command": "cat config/deploy.sh", "description": "look at the deployment"},
		Output: quoted("#!/bin/sh\nexport DEPLOY_KEY=" + demoKey() + "\n./deploy --to staging"),
	}},
	{SleepMS: 300},
	{Text: "Done: the notes are read, the deletion was refused, the push waited for a human, and the key in config/deploy.sh never reached me."},
}}}

// demoKey looks like a provider's API key and is none; its parts meet only
// here, so that no scanner of sources takes this file for a leak.
func demoKey() string {
	return strings.Join([]string{"sk", "ant", "api03", strings.Repeat("Demo0Key1", 10) + "AA"}, "-")
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always encodes
	return b
}
