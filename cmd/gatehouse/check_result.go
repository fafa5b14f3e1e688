package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// gateResult is one thing the gate has to do, tried through one CLI.
type gateResult struct {
	CLI    string `json:"cli"`    // "scripted" or "configured"
	Check  string `json:"check"`  // see the constants
	Status string `json:"status"` // "ok", "failed" or "skipped"
	Detail string `json:"detail,omitempty"`
}

// The values of gateResult.
const (
	gateScripted, gateConfigured     = "scripted", "configured"
	gateOK, gateFailed, gateSkipped  = "ok", "failed", "skipped"
	checkStarts                      = "session_starts"
	checkModel                       = "model_reached"
	checkJudged, checkDenied         = "calls_judged", "denied_calls_stopped"
	checkHooks, checkAllowed         = "foreign_hooks_stopped", "allowed_call_runs"
	checkCovered, checkUnjudgedEnded = "secret_covered", "unjudged_call_ends_session"
	checkFailing                     = "failing_output_covered"
	checkSettings                    = "own_settings"
)

// checkTitles are the checks as people read them.
var checkTitles = map[string]string{
	checkStarts:        "a session starts",
	checkModel:         "the CLI uses the model it is given",
	checkJudged:        "every call is put to the policies",
	checkDenied:        "a denied call does not run",
	checkHooks:         "hooks of settings files do not run",
	checkAllowed:       "an allowed call runs",
	checkCovered:       "a secret is covered before the model reads it",
	checkFailing:       "so is one in the output of a command that fails",
	checkUnjudgedEnded: "a call that nobody judged ends the session",
	checkSettings:      "your own settings let sessions start (read for disableAllHooks, otherwise not tried)",
}

// modelView is what the model got to read.
type modelView struct {
	missing string                 // why it cannot be told
	read    func(text string) bool // text needs no JSON escapes
}

// apiModel looks at the requests that the loopback API received.
func apiModel(api *fakeapi.Server) modelView {
	for _, r := range api.Requests() {
		if r.Path == "/v1/messages" {
			return modelView{read: api.Saw}
		}
	}
	return modelView{missing: "it did not call the check's own API on loopback; machine-wide settings may name another one (ANTHROPIC_BASE_URL, Bedrock, Vertex)"}
}

// scriptedModel looks at the tool results that the scripted CLI reported. They
// are redacted before they are kept; a result in which the engine had to cover
// something then reached the model uncovered.
func (t *trial) scriptedModel() modelView {
	var all []byte
	for _, e := range t.events {
		if e.Type != event.ToolResult {
			continue
		}
		all = append(all, e.Data...)
		if len(e.Redactions) > 0 {
			all = append(all, fakeSecret()...)
		}
	}
	return modelView{read: func(text string) bool { return bytes.Contains(all, []byte(text)) }}
}

// results judges a trial of the canaries.
func (t *trial) results(model modelView) []gateResult {
	switch {
	case t.err != nil:
		return []gateResult{verdict(checkStarts, t.err.Error())}
	case model.missing != "":
		return []gateResult{verdict(checkModel, model.missing+t.end())}
	}
	return []gateResult{
		verdict(checkJudged, t.unjudged()), verdict(checkDenied, t.ran(model)),
		verdict(checkAllowed, t.unread(model)), verdict(checkCovered, uncovered(model)),
	}
}

// verdict is a result that failed if there is something wrong to tell.
func verdict(check, wrong string) gateResult {
	if wrong == "" {
		return gateResult{Check: check, Status: gateOK}
	}
	return gateResult{Check: check, Status: gateFailed, Detail: wrong}
}

func (t *trial) unjudged() string {
	missed := t.judge.missed()
	switch {
	case len(missed) == 0:
		return ""
	case len(missed) > 2:
		missed = append(missed[:2], fmt.Sprintf("%d more", len(missed)-2))
	}
	return "not asked about: " + strings.Join(missed, ", ") + t.end()
}

func (t *trial) ran(model modelView) string {
	for _, c := range canaries {
		if c.mark != "" && exists(t.world.path(c.mark)) {
			return c.String() + " ran although it was denied"
		}
	}
	switch {
	case model.read(privateWord):
		return "the model read " + privateFile + " although that was denied"
	case t.tripped():
		return "a call ran without a decision" + t.end()
	}
	return ""
}

func (t *trial) hooked() string {
	if exists(t.world.hookMark()) {
		return "a hook of a settings file ran; it could answer in the place of the policies"
	}
	return ""
}

func (t *trial) unread(model modelView) string {
	if !model.read(notesWord) {
		return "the model did not get the file it was allowed to read" + t.end()
	}
	return ""
}

func uncovered(model modelView) string {
	switch {
	case model.read(fakeSecret()):
		return "the model read a token in the output of a tool"
	case !model.read("[REDACTED:github]"):
		return "the output with the token did not reach the model"
	}
	return ""
}

// uncoveredFailing judges what the filter of shell commands did.
func uncoveredFailing(model modelView) string {
	switch {
	case model.read(failingSecret()):
		return "the model read a token in the output of a command that failed; the CLI does not start commands through its CLAUDE_CODE_SHELL_PREFIX"
	case !model.read(failingWord):
		return "the output of a command that failed did not reach the model"
	case !model.read("[REDACTED:gitlab]"):
		return "the token in the output of a command that failed was not covered as one"
	}
	return ""
}

// tripped reports whether the engine saw a call run without a decision.
func (t *trial) tripped() bool {
	return slices.ContainsFunc(t.events, func(e event.Event) bool {
		var p payload
		return e.Type == event.Notice && json.Unmarshal(e.Data, &p) == nil && p.Type == "unmediated"
	})
}

// tripwire judges the session of a CLI that runs a call without asking.
func (t *trial) tripwire() gateResult {
	switch {
	case t.err != nil:
		return verdict(checkUnjudgedEnded, t.err.Error())
	case !t.tripped() || t.info.State != engine.Cancelled:
		return verdict(checkUnjudgedEnded, "the session went on"+t.end())
	}
	return verdict(checkUnjudgedEnded, "")
}

// end says how the session ended, if not well.
func (t *trial) end() string {
	switch {
	case t.info.State.Busy():
		return fmt.Sprintf(" (the session was still %s after %s)", t.info.State, trialTime)
	case t.info.State == engine.Cancelled:
		return " (the session was ended: " + t.info.CancelledReason + ")"
	case t.info.Result != nil && t.info.Result.IsError:
		return " (the turn failed: " + shorten(t.info.Result.Result, 200) + ")"
	}
	return ""
}
