package realcli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// failures are what the API answers and what clients of session tools are told.
var failures = []struct {
	reply fakeapi.Turn
	kind  string
	error string
}{
	{fakeapi.Turn{Drop: true}, "APIError", "Unable to connect to API"},                                                                             // first: a connection that was used before is made anew unseen
	{fakeapi.Fail(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), "ContextWindowError", "Prompt is too long"}, // early: what can be compacted is
	{fakeapi.Fail(429, "rate_limit_error", "slow down"), "RateLimitError", "Request rejected (429)"},
	{fakeapi.Fail(529, "overloaded_error", "Overloaded"), "APIError", "529 Overloaded"},
	{fakeapi.Fail(500, "api_error", "Internal server error"), "APIError", "500 Internal server error"},
	{fakeapi.Fail(401, "authentication_error", "invalid x-api-key"), "APIError", "Invalid API key"},
}

// TestMPMFailures: what the API refuses arrives as a success of the CLI. The
// session survives each of them.
func TestMPMFailures(t *testing.T) {
	l := newLab(t)
	var turns []fakeapi.Turn
	for _, f := range failures {
		turns = append(turns, f.reply)
	}
	l.serve(append(turns, fakeapi.Say("WELL-AGAIN"))...)
	l.open()
	d := l.desk(mpmserver.Options{})
	id := ""
	for i, f := range failures {
		tool, arguments := "mpm_session_start", object{"prompt": "go"}
		if i > 0 {
			tool, arguments = "mpm_session_continue", object{"prompt": "go on", "session_id": id}
		}
		a := d.use(tool, arguments)
		d.bad(a, f.kind, f.error)
		if _, there := a.object["retry_after"]; there != (f.kind == "RateLimitError") {
			t.Errorf("%s: retry_after %v", f.error, a.object["retry_after"])
		}
		if text(a.object, "output") != "" {
			t.Errorf("%s counts as what the model said: %s", f.error, encoded(a.object))
		}
		id = text(a.object, "session_id")
		d.status(id, "error", i+1)
	}
	d.goOn(id, "go on", "WELL-AGAIN", false)
	d.status(id, "completed", len(failures)+1)
}

// TestMPMTimeouts: a call ends in time though the API is silent, or the CLI sits out
// a rate limit, of which the client then learns how long it lasts.
func TestMPMTimeouts(t *testing.T) {
	l := newLab(t)
	limited := fakeapi.Fail(429, "rate_limit_error", "slow down")
	limited.Headers = map[string][]string{"Retry-After": {"47"}}
	l.serve(fakeapi.Say("WARM"), fakeapi.Turn{Text: "never said", Delay: 5 * time.Minute}, fakeapi.Say("WARM-AGAIN"), limited, fakeapi.Say("WELL"))
	l.open(func(o *engine.Options) {
		o.Environ = append(slices.DeleteFunc(o.Environ, func(kv string) bool { return strings.HasPrefix(kv, "CLAUDE_CODE_MAX_RETRIES=") }), "CLAUDE_CODE_MAX_RETRIES=3")
		o.WarmTTL = 2 * patience // a warm process has nothing to start in a turn's time
	})
	d := l.desk(mpmserver.Options{})
	id := d.start("PROMPT-WARM", "WARM")
	a := d.use("mpm_session_continue", object{"session_id": id, "prompt": "PROMPT-SILENT", "timeout": 2.5})
	d.bad(a, "SessionError", "Session timed out after 2.5s")
	d.status(id, "error", 2)
	d.goOn(id, "PROMPT-AGAIN", "WARM-AGAIN", false)
	d.remembers([]string{"PROMPT-WARM", "PROMPT-SILENT", "PROMPT-AGAIN"})

	a = d.use("mpm_session_continue", object{"session_id": id, "prompt": "PROMPT-LIMITED", "timeout": 4})
	d.bad(a, "RateLimitError", "Session timed out after 4s")
	if a.object["retry_after"] != 47. {
		t.Errorf("retry_after %v, want what the API said (above 60 s the CLI would not wait)", a.object["retry_after"])
	}
	d.goOn(id, "PROMPT-WELL", "WELL", false)
	d.status(id, "completed", 5)
}
