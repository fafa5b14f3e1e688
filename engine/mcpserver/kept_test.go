package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keeper is a folder in which servers follow each other.
type keeper struct {
	root, scenario, state string
}

func newKeeper(t *testing.T, scenario string) keeper {
	t.Helper()
	k := keeper{root: t.TempDir(), scenario: filepath.Join(t.TempDir(), "scenario.json"), state: t.TempDir()}
	if err := os.WriteFile(k.scenario, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// serve starts the next server; end ends it as a shutdown does.
func (k keeper) serve(t *testing.T, who admission.Decider) (c *mcp.ClientSession, end func()) {
	t.Helper()
	store, err := journal.Open(journal.Options{Folder: filepath.Join(k.state, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.New(engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", k.scenario}, Roots: []string{k.root}, TempDir: t.TempDir(),
		Deciders: []permission.Decider{rules{}}, Admission: []admission.Decider{who}, Store: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := eng.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		store.Close()
	}
	t.Cleanup(end)
	return connect(t, eng, nil), end
}

func TestKeptSessionOverTheTools(t *testing.T) {
	k := newKeeper(t, oneQuestion)
	c, end := k.serve(t, &admitter{})
	a := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000}`)
	id := a["sessionId"].(string)
	request := a["actions"].([]any)[0].(map[string]any)["requestId"].(string)
	a = must(t, c, "claude_code_check", fmt.Sprintf(`{"action":"respond_permission","sessionId":%q,"requestId":%q,"decision":"allow","waitMs":20000,"includeEvents":false}`, id, request))
	poll := fmt.Sprintf(`{"action":"poll","sessionId":%q,"waitMs":20000,"responseMode":"full"}`, id)
	for a["status"] != "idle" {
		a = must(t, c, "claude_code_check", strings.Replace(poll, `"responseMode":"full"`, `"includeEvents":false`, 1))
	}
	before := must(t, c, "claude_code_check", poll)
	end()

	c, _ = k.serve(t, &admitter{})
	list := must(t, c, "claude_code_session", `{"action":"list"}`)["sessions"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["sessionId"] != id || list[0].(map[string]any)["status"] != "idle" {
		t.Fatalf("listed %v", list)
	}
	after := must(t, c, "claude_code_check", poll)
	for _, name := range []string{"status", "result"} {
		x, _ := json.Marshal(before[name])
		if y, _ := json.Marshal(after[name]); string(x) != string(y) {
			t.Errorf("%s: %s, before the restart %s", name, y, x)
		}
	}
	told := before["events"].([]any)
	if got := after["events"].([]any); len(got) < len(told) || fmt.Sprint(got[:len(told)]) != fmt.Sprint(told) {
		t.Errorf("events differ:\n%v\nbefore:\n%v", got, told)
	}
	if actions, some := after["actions"]; some && len(actions.([]any)) > 0 {
		t.Errorf("actions %v", actions)
	}
	text := refused(t, c, "claude_code_reply", fmt.Sprintf(`{"sessionId":%q,"prompt":"more"}`, id), "SESSION_NOT_FOUND")
	if !strings.Contains(text, "claude_code_check") {
		t.Errorf("the reply's error does not say that the history can be read: %s", text)
	}
	refused(t, c, "claude_code_check", fmt.Sprintf(`{"action":"respond_permission","sessionId":%q,"requestId":%q,"decision":"allow"}`, id, request), "PERMISSION_REQUEST_NOT_FOUND")
	one := must(t, c, "claude_code_session", fmt.Sprintf(`{"action":"cancel","sessionId":%q}`, id))["sessions"].([]any)[0].(map[string]any)
	if one["status"] != "cancelled" || one["cancelledReason"] != "Cancelled by caller" {
		t.Errorf("cancelled: %v", one)
	}
	refused(t, c, "claude_code_session", fmt.Sprintf(`{"action":"cancel","sessionId":%q}`, id), "CANCELLED")
}

// noList admits all but to be shown sessions.
type noList struct{ admitter }

func (d *noList) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action == admission.List {
		return permission.Decision{Effect: permission.Deny, Rule: "test.no_list", Reason: "not shown"}, nil
	}
	return d.admitter.Admit(ctx, r)
}

// TestKeptSessionsAreShownByPolicy: who polls one did not start it in this run.
func TestKeptSessionsAreShownByPolicy(t *testing.T) {
	k := newKeeper(t, `{"turns":[[{"text":"one"}]]}`)
	c, end := k.serve(t, &admitter{})
	id := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000}`)["sessionId"].(string)
	end()
	c, _ = k.serve(t, &noList{})
	refused(t, c, "claude_code_check", fmt.Sprintf(`{"action":"poll","sessionId":%q}`, id), "PERMISSION_DENIED")
	refused(t, c, "claude_code_session", `{"action":"list"}`, "PERMISSION_DENIED")
	must(t, c, "claude_code_session", fmt.Sprintf(`{"action":"cancel","sessionId":%q}`, id))
}

// TestLongHistoryIsReadToItsEnd: what is on the disk only comes in pages.
func TestLongHistoryIsReadToItsEnd(t *testing.T) {
	text := strings.Repeat("x", 200<<10)
	var steps []string
	for range 20 {
		steps = append(steps, fmt.Sprintf(`{"text":%q}`, text))
	}
	k := newKeeper(t, `{"turns":[[`+strings.Join(steps, ",")+`]]}`)
	c, end := k.serve(t, &admitter{})
	id := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000}`)["sessionId"].(string)
	for must(t, c, "claude_code_check", fmt.Sprintf(`{"action":"poll","sessionId":%q,"waitMs":20000,"includeEvents":false}`, id))["status"] != "idle" {
	}
	read := func(c *mcp.ClientSession) (texts, results int) {
		for cursor, more := 0, true; more; {
			a := must(t, c, "claude_code_check", fmt.Sprintf(`{"action":"poll","sessionId":%q,"cursor":%d,"includeTerminalEvents":true}`, id, cursor))
			for _, kind := range kinds(a) {
				switch kind {
				case "output":
					texts++
				case "result":
					results++
				}
			}
			more, _ = a["truncated"].(bool)
			cursor = int(a["nextCursor"].(float64))
		}
		return texts, results
	}
	if texts, results := read(c); texts != 20 || results != 1 {
		t.Errorf("live: %d texts, %d results", texts, results)
	}
	end()
	c, _ = k.serve(t, &admitter{})
	if texts, results := read(c); texts != 20 || results != 1 {
		t.Errorf("kept: %d texts, %d results", texts, results)
	}
}
