package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// checkedSample is what the policies say to one thing.
type checkedSample struct {
	Sample string `json:"sample"` // as shown
	Effect string `json:"effect"` // of package permission: "allow", "ask", "deny", …
	Rule   string `json:"rule"`
	Reason string `json:"reason,omitempty"`
}

// call is a tool call to ask the policies about.
type call struct {
	show, tool string
	input      map[string]any
}

// sampleCalls are calls most sessions make or are feared for. None is made.
func sampleCalls(root, home string) []call {
	file := func(tool, shown, path string) call {
		input := map[string]any{"file_path": path}
		if tool == "Write" {
			input["content"] = "text"
		}
		return call{tool + " " + shown, tool, input}
	}
	outside := filepath.Join(filepath.VolumeName(root)+string(filepath.Separator), "outside.txt")
	calls := []call{
		file("Read", "README.md", filepath.Join(root, "README.md")),
		file("Read", "~/.ssh/id_ed25519", filepath.Join(home, ".ssh", "id_ed25519")),
		file("Write", "notes.txt", filepath.Join(root, "notes.txt")),
		file("Write", outside, outside),
	}
	for _, command := range []string{"ls", "go test ./...", "git push", "rm -rf /"} {
		calls = append(calls, call{"Bash " + command, "Bash", map[string]any{"command": command}})
	}
	return append(calls,
		call{"WebFetch https://example.com", "WebFetch", map[string]any{"url": "https://example.com", "prompt": "summarise"}},
		call{"mcp__x__y", "mcp__x__y", map[string]any{}})
}

// sampleBudget is the maxBudgetUsd of the samples, in US dollars: without one,
// profile ci would deny them all for that alone.
const sampleBudget = 1

// sample asks the loaded policies about calls and starts in the first root.
func (k *check) sample(ctx context.Context) error {
	s := k.settings
	chain := permission.Chain{Deciders: []permission.Decider{k.policies}, Default: permission.Ask}
	if k.plugins != nil {
		chain.Annotators = []permission.Annotator{k.plugins.Host}
	}
	session := permission.Session{
		Cwd: s.roots[0], Roots: s.roots, Mode: "default", Turn: 1, MaxBudgetUSD: sampleBudget,
		Trusted: slices.ContainsFunc(s.trusted, func(t string) bool { return inside(s.roots[0], t) }),
	}
	for _, c := range sampleCalls(s.roots[0], s.home) {
		input, err := json.Marshal(c.input)
		if err != nil {
			return fmt.Errorf("check: sample %s: %w", c.show, err)
		}
		d := chain.Decide(ctx, permission.Request{
			SessionID: "check", Door: permission.DoorAsk, ToolUseID: "check", Tool: c.tool, Input: input, Session: session,
		})
		k.report.Calls = append(k.report.Calls, k.attended(sampled(c.show, d)))
	}
	if err := k.sampleStarts(ctx); err != nil {
		return err
	}
	k.show(k.samplesText)
	return nil
}

func sampled(show string, d permission.Decision) checkedSample {
	return checkedSample{Sample: show, Effect: d.Effect.String(), Rule: d.Rule, Reason: d.Reason}
}

// attended turns what would be asked into the deny it becomes where the
// profile lets nobody answer.
func (k *check) attended(s checkedSample) checkedSample {
	if s.Effect == permission.Ask.String() && slices.Contains(strictProfiles, k.settings.profile) {
		s.Effect, s.Reason = permission.Deny.String(), "asks, and profile "+k.settings.profile+" lets nobody answer"
	}
	return s
}

// sampleStarts asks about starts of sessions through an engine, so that the
// policies see the very request a client would make. Its admission refuses
// everything after having asked: nothing is started.
func (k *check) sampleStarts(ctx context.Context) error {
	s, asked := k.settings, &askedAdmission{next: k.policies}
	o := engine.Options{
		Executable: s.executable, Roots: s.roots, Trusted: s.trusted, Admission: []admission.Decider{asked},
		Mentions: facts.Mentions, Environ: k.env, Logger: slog.New(slog.DiscardHandler),
	}
	if k.plugins != nil {
		o.AdmissionAnnotators = []admission.Annotator{k.plugins.Host}
	}
	eng, err := engine.New(o)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer eng.Close(context.WithoutCancel(ctx)) // nothing runs, so it ends at once
	for _, start := range []struct {
		show   string
		params engine.StartParams
	}{
		{"a prompt alone", engine.StartParams{}},
		{"maxBudgetUsd", engine.StartParams{MaxBudgetUSD: sampleBudget}},
		{"mcpServers", engine.StartParams{MaxBudgetUSD: sampleBudget, McpServers: json.RawMessage(`{"x":{"command":"x"}}`)}},
		{"pathToClaudeCodeExecutable", engine.StartParams{MaxBudgetUSD: sampleBudget, Executable: filepath.Join(s.roots[0], "claude")}},
	} {
		start.params.Prompt = "hello"
		_, err := eng.Start(ctx, start.params)
		d, ok := asked.take()
		if !ok {
			return fmt.Errorf("check: sample start %s: %w", start.show, err)
		}
		k.report.Starts = append(k.report.Starts, sampled(start.show, d))
	}
	return nil
}

// askedAdmission asks another decider, remembers its answer and refuses.
type askedAdmission struct {
	next admission.Decider

	mu     sync.Mutex
	answer *permission.Decision
}

func (a *askedAdmission) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	d, err := a.next.Admit(ctx, r)
	if err != nil {
		return d, err
	}
	d = bound(d, r.Annotations)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = &d
	return permission.Decision{Effect: permission.Deny, Rule: "check.sample", Reason: "nothing is started", By: "policy"}, nil
}

// bound is d, or the refusal of a plugin that holds whatever policies say.
func bound(d permission.Decision, said []permission.Annotation) permission.Decision {
	for _, a := range said {
		if d.Effect != permission.Allow || !a.Binding || a.Verdict != permission.Ask && a.Verdict != permission.Deny {
			continue
		}
		rule := "plugin." + a.Plugin
		if a.Error != "" {
			rule += ".error"
		}
		d = permission.Decision{Effect: permission.Deny, Rule: rule, Reason: cmp.Or(a.Reason, a.Error), By: "plugin"}
	}
	return d
}

// take returns the answer and forgets it; ok is false when nothing was asked.
func (a *askedAdmission) take() (d permission.Decision, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer == nil {
		return d, false
	}
	d, a.answer = *a.answer, nil
	return d, true
}
