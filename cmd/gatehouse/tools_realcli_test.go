package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/internal/testcli"
	"github.com/gatehouse-mcp/gatehouse/internal/testguest"
)

// toolWorld is a real CLI whose model makes calls one after the other.
type toolWorld struct {
	realWorld
	home string
}

func newToolWorld(t *testing.T, calls ...fakeapi.ToolUse) toolWorld {
	t.Helper()
	testcli.Path(t)
	w := toolWorld{realWorld: newRealWorld(t)}
	var turns []fakeapi.Turn
	for _, c := range calls {
		turns = append(turns, fakeapi.Turn{Tools: []fakeapi.ToolUse{c}})
	}
	api, err := fakeapi.New(fakeapi.Scenario{Turns: append(turns, fakeapi.Say("All done."))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	for i, kv := range w.environ {
		if strings.HasPrefix(kv, "ANTHROPIC_BASE_URL=") {
			w.environ[i] = "ANTHROPIC_BASE_URL=" + api.URL
		}
	}
	w.api, w.home = api, filepath.Join(filepath.Dir(w.project), "home")
	return w
}

func toolCall(tool string, input map[string]any) fakeapi.ToolUse {
	return fakeapi.ToolUse{Name: tool, Input: input}
}

// ruledWorld is a configuration with these lines and rules of words and numbers in
// the input of a call: forbidden and 1313 are denied, granted and 2121 allowed.
func ruledWorld(t *testing.T, more map[string]string, lines string) (config string) {
	t.Helper()
	texts := map[string]string{
		"rules.rego": `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "mine.forbidden", "reason": "MARK-FORBIDDEN"} if {
	input.tool.kind == "sdk"
	regex.match("forbidden|1313", json.marshal(input.tool.input))
}

decisions contains {"effect": "allow", "rule": "mine.granted", "reason": "granted"} if {
	input.tool.kind == "sdk"
	regex.match("granted|2121", json.marshal(input.tool.input))
}
`,
		"gatehouse.toml": "[policy]\npaths = [\"rules.rego\"]\n" + lines,
	}
	for name, text := range more {
		texts[name] = text
	}
	return filepath.Join(files(t, texts), "gatehouse.toml")
}

// audited is what the audit log of the world says.
func (w toolWorld) audited(t *testing.T, config string) string {
	t.Helper()
	return w.command(t, "", "gatehouse", "audit", "show", "--json", "--config", config)
}

// watched is the CLI behind a script that notes its environment and arguments in
// the file seen, outside of what onDisk looks at.
func (w toolWorld) watched(t *testing.T) (cli, seen string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no sh, whose script notes the CLI's environment and arguments here")
	}
	folder := t.TempDir()
	cli, seen = filepath.Join(folder, "claude"), filepath.Join(folder, "seen.txt")
	script := "#!/bin/sh\n{ env; printf '%s\\n' \"$@\"; } >> '" + seen + "'\nexec '" + w.cli + "' \"$@\"\n"
	if err := os.WriteFile(cli, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return cli, seen
}

// onDisk names the files of the world that hold text.
func (w toolWorld) onDisk(t *testing.T, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(w.project), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), text) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// The real CLI calls a plugin's tools: asked and allowed, asked and refused, allowed
// by a rule and denied by one.
func TestRealCLICallsAPluginsTools(t *testing.T) {
	numbers := func(a, b float64) map[string]any { return map[string]any{"a": a, "b": b} }
	w := newToolWorld(t,
		toolCall("mcp__calc__multiply", numbers(37, 3)), toolCall("mcp__calc__add", numbers(500, 55)),
		toolCall("mcp__calc__subtract", numbers(2121, 6)), toolCall("mcp__calc__divide", numbers(1313, 13)), toolCall("mcp__calc__divide", numbers(1, 0)))
	module, err := os.ReadFile(testguest.Go(t, "../../examples/plugins/calc"))
	if err != nil {
		t.Fatal(err)
	}
	config := ruledWorld(t, map[string]string{"calc.wasm": string(module)},
		"[[plugin]]\nname = \"calc\"\npath = \"calc.wasm\"\nallow_unpinned = true\ntimeout = \"10s\"\n")
	out := w.command(t, "allow\ndeny not today\nallow\n", "gatehouse", "run", "--config", config, "--cli", w.cli, "--on-ask", "stdin", "count")
	for _, want := range []string{"? mcp__calc__multiply", "? mcp__calc__add", "mine.forbidden", "● idle"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for text, want := range map[string]bool{`"111"`: true, `"555"`: false, `"2115"`: true, `"101"`: false, "not today": true, "MARK-FORBIDDEN": true, "division by zero": true} {
		if w.api.Saw(text) != want {
			t.Errorf("the model was told %s: %v, want %v\n%s", text, !want, want, out)
		}
	}
	audit := w.audited(t, config)
	for _, want := range []string{`"mcp__calc__multiply"`, `"mine.forbidden"`, `"mine.granted"`, `"inproc"`} {
		if !strings.Contains(audit, want) {
			t.Errorf("%s is missing in\n%s", want, audit)
		}
	}
}

// The real CLI calls the tools of an upstream server whose secret neither the CLI
// nor anything it leaves behind has; the server gives it out in results and errors.
func TestRealCLICallsAnUpstreamsTools(t *testing.T) {
	secret := "tok" + strings.Repeat("Zq8", 8)
	w := newToolWorld(t,
		toolCall("mcp__tickets__say", map[string]any{"text": "asked"}), toolCall("mcp__tickets__say", map[string]any{"text": "refused"}),
		toolCall("mcp__tickets__whoami", map[string]any{"text": "granted"}), toolCall("mcp__tickets__note", map[string]any{"text": "forbidden"}),
		toolCall("mcp__tickets__fail", map[string]any{"text": "granted"}), toolCall("mcp__tickets__quit_all", map[string]any{}))
	cli, seen := w.watched(t)
	program, err := exec.LookPath("upstream-server")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "calls.txt")
	config := ruledWorld(t, nil, `
[[mcp_server]]
name = "tickets"
command = ['`+program+`', 'leaky', 'log=`+log+`']
env_from = ["TICKETS_TOKEN"]
tools = ["say", "note", "whoami", "fail"]
`)
	w.environ = append(w.environ, "TICKETS_TOKEN="+secret)
	out := w.command(t, "allow\ndeny not today\n", "gatehouse", "run", "--config", config, "--cli", cli, "--on-ask", "stdin", "--json", "look")
	if calls, err := os.ReadFile(log); err != nil || string(calls) != "start\ncall say\ncall whoami\ncall fail\n" {
		t.Errorf("the server heard %q, %v\n%s", calls, err, out)
	}
	for _, text := range []string{"said asked", "not today", "MARK-FORBIDDEN", "refused: token", "variables ", "No such tool available: mcp__tickets__quit_all"} {
		if !w.api.Saw(text) {
			t.Errorf("the model was not told %q\n%s", text, out)
		}
	}
	audit := w.audited(t, config)
	places := map[string]string{"events": out, "audit": audit, "stored": strings.Join(w.onDisk(t, secret), "\n")}
	for where, text := range places {
		if strings.Contains(text, secret) || where == "stored" && text != "" {
			t.Errorf("the secret is in the %s: %s", where, text)
		}
	}
	if w.api.Saw(secret) {
		t.Error("the model's API was sent the secret")
	}
	env, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(env), "--managed-settings") || !strings.Contains(string(env), "DISABLE_AUTOUPDATER=1") {
		t.Errorf("the CLI's environment and arguments were not seen: %v\n%s", err, env)
	}
	if strings.Contains(string(env), secret) || strings.Contains(string(env), "TICKETS_TOKEN") {
		t.Error("the CLI has the server's variable in its environment or its arguments")
	}
	for _, want := range []string{`"mcp__tickets__say"`, `"mine.forbidden"`, `"inproc"`} {
		if !strings.Contains(audit, want) {
			t.Errorf("%s is missing in\n%s", want, audit)
		}
	}
}
