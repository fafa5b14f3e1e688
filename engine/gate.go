package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// This file owns how a CLI is wired so that every tool call reaches policy:
// argv, settings, hooks and the check that the CLI holds to them.
//
// "ask *" makes the CLI ask before every valid call, whatever other rules,
// modes and lists say; the managed lock keeps hooks of others from answering
// first; with strict MCP configuration the CLI starts no server we did not hand it.

// hookTimeout is in seconds: a day, far below the 2^31 ms at which the CLI's timer overflows.
const hookTimeout = 86400

// launch is one way to start the CLI for a session.
type launch struct {
	resume   string // session id to resume, "" for a new one
	at       string // UUID of the last message to keep, "" for all
	fork     bool
	isolated bool // no settings file at all
	filter   filtering
	clock    *startClock
}

type gatePermissions struct {
	Ask  []string `json:"ask"`
	Deny []string `json:"deny,omitempty"`
}

// managedLock only tightens; the CLI drops keys of any other kind.
const managedLock = `{"allowManagedHooksOnly":true,"permissions":{"ask":["*"],"disableBypassPermissionsMode":"disable"}}`

// settings renders --settings: the gate's own keys over the vetted snapshot of
// the project's.
func (s *Session) settings(l launch) (string, error) {
	own := map[string]any{}
	for k, v := range s.snapshot.settings {
		own[k] = v
	}
	deny := append(slices.Clone(s.snapshot.deny), denyReads(s.engine.o.DenyReads)...)
	own["permissions"] = gatePermissions{Ask: []string{"*"}, Deny: deny}
	own["disableSkillShellExecution"] = true
	sandbox, err := sandboxSettings(s.params.Sandbox)
	if err != nil {
		return "", err
	}
	own["sandbox"] = sandbox
	if env := s.settingsEnvironment(l); env != nil {
		own["env"] = env
	}
	b, err := json.Marshal(own)
	return string(b), err
}

func denyReads(patterns []string) []string {
	rules := make([]string, len(patterns))
	for i, p := range patterns {
		rules[i] = "Read(" + p + ")"
	}
	return rules
}

// sandboxSettings keeps the caller's sandbox but never lets it replace the question.
func sandboxSettings(raw json.RawMessage) (map[string]any, error) {
	sandbox := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &sandbox); err != nil || sandbox == nil {
			return nil, Errorf(InvalidArgument, "sandbox: want an object")
		}
	}
	sandbox["autoAllowBashIfSandboxed"] = false
	return sandbox, nil
}

// args renders the command line. Values of callers go as --flag=value, so that
// none is read as another flag.
func (s *Session) args(l launch, mcpConfig string) ([]string, error) {
	settings, err := s.settings(l)
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(s.engine.o.Args),
		"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--permission-prompt-tool", "stdio", "--permission-mode", s.cliMode(),
		"--settings", settings, "--managed-settings", managedLock,
		"--strict-mcp-config", "--setting-sources="+strings.Join(s.sources(l), ","))
	if mcpConfig != "" {
		args = append(args, "--mcp-config="+mcpConfig)
	}
	switch {
	case l.fork:
		args = append(args, "--resume="+l.resume, "--fork-session", "--session-id="+s.id)
	case l.resume != "":
		args = append(args, "--resume="+l.resume)
	default:
		args = append(args, "--session-id="+s.id)
	}
	if l.at != "" {
		args = append(args, "--resume-session-at="+l.at)
	}
	budget, err := s.budgetLeft()
	if err != nil {
		return nil, err
	}
	if budget > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(budget, 'f', -1, 64))
	}
	return append(args, s.parameterArgs()...), nil
}

// sources are the settings files the CLI reads by itself: the user's, and the
// project's only in a trusted root. An untrusted project's are never loaded
// live, since a call in mid-session could bring in new ones.
func (s *Session) sources(l launch) []string {
	switch {
	case l.isolated:
		return nil
	case s.params.SettingSources != nil:
		return *s.params.SettingSources
	}
	return defaultSources(s.trusted)
}

// defaultSources are the settings files a folder's sessions read live.
func defaultSources(trusted bool) []string {
	if trusted {
		return []string{"user", "project", "local"}
	}
	return []string{"user"}
}

// parameterArgs renders the caller's parameters that are flags of the CLI.
func (s *Session) parameterArgs() []string {
	p := s.params
	var args []string
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag+"="+value)
		}
	}
	add("--disallowedTools", strings.Join(p.DisallowedTools, ","))
	if p.Tools != nil {
		args = append(args, "--tools="+strings.Join(*p.Tools, ","))
	}
	add("--model", p.Model)
	add("--fallback-model", p.FallbackModel)
	add("--agent", p.Agent)
	add("--effort", p.Effort)
	add("--betas", strings.Join(p.Betas, ","))
	add("--json-schema", string(p.OutputSchema))
	if p.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(p.MaxTurns))
	}
	for _, d := range s.dirs {
		add("--add-dir", d)
	}
	switch p.Thinking {
	case "enabled":
		add("--max-thinking-tokens", strconv.Itoa(p.ThinkingBudget))
	default:
		add("--thinking", p.Thinking)
	}
	if !s.persists() {
		args = append(args, "--no-session-persistence")
	}
	if p.PartialMessages {
		args = append(args, "--include-partial-messages")
	}
	if p.DebugFile != "" {
		add("--debug-file", p.DebugFile)
	} else if p.Debug {
		args = append(args, "--debug")
	}
	return args
}

func (s *Session) persists() bool { return s.params.PersistSession == nil || *s.params.PersistSession }

// writeMcpConfig puts a launch's servers into a private file, since argv is
// readable by every user of the machine. It returns "" when there are none.
func (s *Session) writeMcpConfig(l launch) (path string, err error) {
	servers, err := s.mcpServers(l)
	if err == nil {
		servers, err = l.filter.mark(servers)
	}
	if err != nil || len(servers) == 0 {
		return "", err
	}
	body, err := json.Marshal(map[string]json.RawMessage{"mcpServers": servers})
	if err != nil {
		return "", Errorf(InvalidArgument, "mcpServers: want an object of server configurations: %w", err)
	}
	f, err := os.CreateTemp(s.engine.o.TempDir, "gatehouse-mcp-*.json") // created 0600
	if err != nil {
		return "", Errorf(Internal, "write MCP configuration: %w", err)
	}
	_, err = f.Write(body)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", Errorf(Internal, "write MCP configuration: %w", err)
	}
	return f.Name(), nil
}

// The callbacks registered with the CLI; ids are the event names.
var hookEvents = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "UserPromptExpansion"}

// initialize is the first control request.
func (s *Session) initialize() map[string]any {
	hooks := map[string]any{}
	for _, name := range hookEvents {
		hooks[name] = []any{map[string]any{"hookCallbackIds": []string{name}, "timeout": hookTimeout}}
	}
	fields := map[string]any{"hooks": hooks}
	if p := s.params.SystemPrompt; p != nil {
		fields["systemPrompt"] = []string{*p}
	}
	if text := joinParagraphs(s.params.AppendPrompt, s.snapshot.memory); text != "" {
		fields["appendSystemPrompt"] = text
	}
	if len(s.params.Agents) > 0 {
		fields["agents"] = s.params.Agents
	}
	if len(s.params.OutputSchema) > 0 {
		fields["jsonSchema"] = s.params.OutputSchema
	}
	if names := s.toolServerNames(); len(names) > 0 {
		fields["sdkMcpServers"] = names
	}
	return fields
}

func joinParagraphs(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "\n\n")
}

// effective is what of the get_settings answer the gate rests on (CLI 2.1.197).
type effective struct {
	Effective struct {
		Permissions struct {
			Ask []string `json:"ask"`
		} `json:"permissions"`
		AllowManagedHooksOnly bool `json:"allowManagedHooksOnly"`
		DisableAllHooks       bool `json:"disableAllHooks"`
	} `json:"effective"`
	Sources []struct {
		Source string `json:"source"`
	} `json:"sources"`
}

// checkEffective judges the CLI's answer before the first prompt: it looks for
// the ask-all rule and for the lock on hooks. Isolated, no settings file but the
// administrator's may be loaded. locked says whether the lock is held; an
// administrator's settings can replace it.
func checkEffective(raw json.RawMessage, isolated bool) (locked bool, err error) {
	var e effective
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, fmt.Errorf("gate self-check: the CLI's settings cannot be read: %w", err)
	}
	switch {
	case !slices.Contains(e.Effective.Permissions.Ask, "*"):
		return false, errors.New("gate self-check: the CLI does not hold the rule that every tool call asks (permissions.ask \"*\")")
	case e.Effective.DisableAllHooks:
		return false, errors.New("gate self-check: the CLI's settings switch all hooks off (disableAllHooks), so tool output could not be redacted; remove it from the settings file that sets it (user or managed)")
	case !isolated:
		return e.Effective.AllowManagedHooksOnly, nil
	}
	for _, source := range e.Sources {
		if slices.Contains([]string{"userSettings", "projectSettings", "localSettings"}, source.Source) {
			return false, fmt.Errorf("gate self-check: the CLI loads %s although it was started without settings files", source.Source)
		}
	}
	return e.Effective.AllowManagedHooksOnly, nil
}

// managedSettings are where an administrator's settings lie; settings that a
// server or device management hands out are seen by the self-check only.
var managedSettings = map[string][]string{
	"linux":   {"/etc/claude-code"},
	"darwin":  {"/Library/Application Support/ClaudeCode"},
	"windows": {`C:\ProgramData\ClaudeCode`, `C:\Program Files\ClaudeCode`},
}

// administered reports whether this machine has managed settings files.
func administered() bool {
	return slices.ContainsFunc(managedSettings[runtime.GOOS], func(dir string) bool {
		entries, err := os.ReadDir(dir)
		return len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
	})
}

var errHooksUnlocked = errors.New("gate self-check: the CLI does not hold allowManagedHooksOnly: managed settings of an administrator replace ours, so hooks of others could answer before us; set parentSettingsBehavior to \"merge\" there")
