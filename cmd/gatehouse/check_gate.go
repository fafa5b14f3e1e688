package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// trialTime bounds one session of canaries; it takes about a second.
const trialTime = 30 * time.Second

// noAPI is the model of a CLI that has no turn to take.
const noAPI = "http://127.0.0.1:9"

// try looks for the CLI, then drives the canaries through the scripted one,
// which shows that this program holds the gate, and through the configured one,
// which shows that it holds on this machine. An error means that nothing could
// be tried.
func (k *check) try(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "gatehouse-check-")
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, lane := range []func(context.Context, string) error{k.find, k.tryScripted, k.tryConfigured} {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := lane(ctx, folder); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

func (k *check) tryScripted(ctx context.Context, folder string) error {
	t, err := k.playScripted(ctx, folder, "canaries", cliScenario())
	if err != nil {
		return err
	}
	rogue, err := k.playScripted(ctx, folder, "rogue", rogueScenario())
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.addGate(gateScripted, append(t.results(t.scriptedModel()), rogue.tripwire()))
	return nil
}

// playScripted has this program play a scenario in the place of the CLI. It
// asks no model.
func (k *check) playScripted(ctx context.Context, folder, name string, scenario script.Scenario) (*trial, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w, err := newWorld(folder, name)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(scenario)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(w.base, "scenario.json")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		return nil, err
	}
	t := &trial{world: w, judge: &canaryJudge{project: w.project}}
	t.play(ctx, engine.Options{
		Executable: executable, Args: []string{scriptedCommand, "--scenario=" + file}, Trusted: []string{w.project},
		Environ: w.environ(k.env, noAPI),
	})
	return t, nil
}

// configured is the CLI of the settings in a world of its own; api is the URL
// of its model.
func (k *check) configured(w world, api string) (*trial, engine.Options) {
	s := k.settings
	return &trial{world: w, judge: &canaryJudge{project: w.project}}, engine.Options{
		Executable: s.executable, Args: s.cliArgs, MinVersion: s.minVersion, Trusted: []string{w.project},
		OnUnsafeSettings: engine.Isolation(s.onUnsafeSettings), Environ: w.environ(k.env, api),
		Filter: s.filterProgram(), FilterSpec: vendorSpec,
	}
}

// find asks the configured CLI for its version.
func (k *check) find(ctx context.Context, folder string) error {
	w, err := newWorld(folder, "version")
	if err != nil {
		return err
	}
	t, o := k.configured(w, noAPI)
	eng, err := t.open(o)
	if err != nil {
		return err
	}
	defer eng.Close(context.WithoutCancel(ctx)) // nothing runs, so it ends at once
	found := &checkedCLI{Executable: k.settings.executable, MinVersion: k.settings.minVersion}
	if found.Version, err = eng.CLIVersion(ctx); err != nil {
		found.Error = strings.TrimPrefix(err.Error(), fmt.Sprintf("Error [%s]: ", engine.InvalidArgument))
	}
	k.report.CLI = found
	k.show(k.cliText)
	return nil
}

func (k *check) tryConfigured(ctx context.Context, folder string) error {
	if k.report.CLI.Error != "" {
		k.addGate(gateConfigured, []gateResult{{Check: checkStarts, Status: gateSkipped, Detail: "there is no CLI to try"}})
		return nil
	}
	w, err := newWorld(folder, "configured")
	if err != nil {
		return err
	}
	api, err := fakeapi.New(modelScenario(w.project))
	if err != nil {
		return err
	}
	defer api.Close()
	t, o := k.configured(w, api.URL)
	if t.play(ctx, o); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	results := t.results(apiModel(api))
	if t.err == nil && len(results) > 1 {
		results = append(results, k.failing(apiModel(api)), verdict(checkHooks, t.hooked()))
	}
	k.addGate(gateConfigured, append(results, k.ownerSettings()))
	return nil
}

// failing is the result of the command that fails.
func (k *check) failing(model modelView) gateResult {
	if k.settings.filterProgram() == "" {
		return gateResult{Check: checkFailing, Status: gateSkipped, Detail: "the output of commands that fail reaches the model uncovered: there is no filter ([redaction] filter = false, or Windows)"}
	}
	return verdict(checkFailing, uncoveredFailing(model))
}

// trial is one session of canaries in a world of its own.
type trial struct {
	world world
	judge *canaryJudge

	err    error // the session did not start
	info   engine.Info
	events []event.Event
}

// open makes the engine of a trial: the judge in the place of the policies,
// all else as in a session.
func (t *trial) open(o engine.Options) (*engine.Engine, error) {
	o.Roots, o.TempDir = []string{t.world.project}, t.world.temp
	o.Deciders, o.Admission = []permission.Decider{t.judge}, []admission.Decider{admitAll{}}
	o.Redactors, o.DenyReads, o.Mentions = []event.Redactor{scanRedactor{}}, facts.DenyReadRules(), facts.Mentions
	o.Unattended, o.TurnTimeout = true, trialTime
	return engine.New(o)
}

// play runs the session to the end of its turn.
func (t *trial) play(ctx context.Context, o engine.Options) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	eng, err := t.open(o)
	if err != nil {
		t.err = err
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := eng.Close(closing); err != nil && t.err == nil {
			t.err = err
		}
	}()
	session, err := eng.Start(ctx, engine.StartParams{Prompt: "Run the canaries.", Cwd: t.world.project})
	if err != nil {
		t.err = err
		return
	}
	var next int64
	for session.Info().State.Busy() && ctx.Err() == nil {
		session.Wait(ctx, next)
		if last := session.Info().LastEventID; last != nil {
			next = *last + 1
		}
	}
	t.info, t.events = session.Info(), session.Events(nil, 0).Events
}

// admitAll admits the check's own session.
type admitAll struct{}

func (admitAll) Admit(context.Context, admission.Request) (permission.Decision, error) {
	return permission.Decision{Effect: permission.Allow, Rule: "check.start", By: "policy"}, nil
}
