package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
)

// The program under the name of a session server, with the real CLI: a session is
// started, continued from disk by the next server, stopped and listed.
func TestRealCLIBehindTheSessionServer(t *testing.T) {
	w := newRealWorldWith(t, "touch done.txt")
	folder := files(t, map[string]string{
		"gatehouse.toml": "[mpm]\nallowed_tools = [\"Bash(touch *)\"]\n",
		"calls": `offered
call mpm_session_start {"prompt":"PROMPT-ONE","timeout":60,"no_hooks":true}
call mpm_session_status {"session_id":"$ID"}
restart
call mpm_session_continue {"session_id":"$ID","prompt":"PROMPT-TWO"}
call mpm_session_stop {"session_id":"$ID"}
call mpm_session_list {"status":"stopped"}
`,
	})
	out := w.command(t, "", "mcpclient", "--as=mpm-session-server", "--cli", w.cli, "--config", filepath.Join(folder, "gatehouse.toml"), filepath.Join(folder, "calls"))
	for _, want := range []string{
		"offered mpm-session-server: ", `"output":"Published."`, `"status":"completed"`, `"message_count":1`,
		`"output":"(script exhausted)"`, `"stopped":true`, `"status":"stopped"`, `"message_count":2`, `"last_output":"(script exhausted)"`, "server exit 0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(w.project, "done.txt")); err != nil {
		t.Errorf("the allowed call did not run: %v\n%s", err, out)
	}
	last := ""
	for _, r := range w.api.Requests() {
		if r.Lane == fakeapi.MainLane {
			last = string(r.Body)
		}
	}
	for _, want := range []string{"PROMPT-ONE", "Published.", "PROMPT-TWO"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model of the continued session was not sent %s", want)
		}
	}
}
