package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const startTool = "claude_code"

func (s *server) claudeCode() tool {
	yes := true
	return tool{
		name:  startTool,
		title: "Start a Claude Code session",
		description: "Start a Claude Code session for a coding task. Every tool call it makes is judged by policy. " +
			s.answering("Returns {sessionId, status, pollInterval}; follow with claude_code_check. With waitMs also actions and result. "+
				"With timeout it returns when the turn has ended, with the whole result."),
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		run:         s.start,
	}
}

func (s *server) start(ctx context.Context, c call) (any, error) {
	p, wait := startParams(&c.arguments), c.wait()
	blocking := s.blocking(&c.arguments)
	if c.err != nil {
		return nil, c.err
	}
	s.unattended(&p)
	if blocking {
		p.SessionInitTimeout = startWithin(p.SessionInitTimeout)
		turn, err := s.engine.Begin(ctx, p)
		if err != nil {
			return nil, err
		}
		return awaitTurn(ctx, c, turn)
	}
	session, err := s.engine.Start(ctx, p)
	if err != nil {
		return nil, err
	}
	return started(ctx, c, session, 0, wait), nil
}

// startParams maps every parameter of a start. It reports through a.err.
func startParams(a *arguments) engine.StartParams {
	p := sessionOptions(a)
	p.Prompt = a.required("prompt")
	p.SessionInitTimeout = a.millis("sessionInitTimeoutMs")
	p.PermissionTimeout = a.millis("permissionRequestTimeoutMs")
	p.TurnTimeout = a.millis("timeout")
	p.Raw = a.raw()
	return p
}

// sessionOptions maps the parameters that a start and a resume from disk share.
func sessionOptions(a *arguments) engine.StartParams {
	p := engine.StartParams{
		Cwd:             a.text("cwd"),
		AllowedTools:    a.list("allowedTools"),
		DisallowedTools: a.list("disallowedTools"),
		PermissionMode:  a.choice("permissionMode", "", permissionModes...),
		Tools:           toolSet(a),
		MaxTurns:        int(a.integer("maxTurns", 0, 1, maxCount)),
		MaxBudgetUSD:    budget(a),
		Model:           a.text("model"),
		FallbackModel:   a.text("fallbackModel"),
		Agents:          a.open("agents", wrongAgent),
		Agent:           a.text("agent"),
		Effort:          a.choice("effort", "", "low", "medium", "high", "max"),
		Betas:           a.list("betas"),
		AdditionalDirs:  a.list("additionalDirectories"),
		OutputSchema:    outputSchema(a),
		Executable:      a.text("pathToClaudeCodeExecutable"),
		McpServers:      a.open("mcpServers", wrongServer),
		Sandbox:         a.open("sandbox", nil),
		FileCheckpoints: a.boolean("enableFileCheckpointing", false),
		PartialMessages: a.boolean("includePartialMessages", false),
		StrictMcpConfig: a.boolean("strictMcpConfig", false),
		Debug:           a.boolean("debug", false),
		DebugFile:       a.text("debugFile"),
		Env:             environment(a),
	}
	if persist := a.boolean("persistSession", true); a.has("persistSession") {
		p.PersistSession = &persist
	}
	if sources := a.list("settingSources", "user", "project", "local"); sources != nil {
		p.SettingSources = &sources
	}
	p.SystemPrompt, p.AppendPrompt = systemPrompt(a)
	p.Thinking, p.ThinkingBudget = thinking(a)
	return p
}

// permissionModes are the words of permissionMode, see engine.StartParams.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "delegate", "bypassPermissions"}

// toolSet reads tools: names, or the preset, which is the default set.
func toolSet(a *arguments) *[]string {
	if kindOf(a.values["tools"]) == "an object" {
		preset(a, "tools")
		return nil
	}
	if names := a.list("tools"); names != nil {
		return &names
	}
	return nil
}

// systemPrompt reads a replacement, or the preset and what is appended to it.
func systemPrompt(a *arguments) (replace *string, appended string) {
	if kindOf(a.values["systemPrompt"]) == "an object" {
		return nil, preset(a, "systemPrompt", "append").free("append")
	}
	if text := a.free("systemPrompt"); a.has("systemPrompt") {
		return &text, ""
	}
	return nil, ""
}

// preset checks {type: "preset", preset: "claude_code"} and further members.
func preset(a *arguments, name string, more ...string) *arguments {
	o := a.object(name, append([]string{"type", "preset"}, more...)...)
	if o.choice("type", "", "preset") == "" {
		o.fail("type: is required")
	}
	if o.choice("preset", "", "claude_code") == "" {
		o.fail("preset: is required")
	}
	for _, member := range more {
		o.free(member)
	}
	a.adopt(name, o)
	return o
}

func thinking(a *arguments) (kind string, budget int) {
	o := a.object("thinking", "type", "budgetTokens")
	if o == nil {
		return "", 0
	}
	kind = o.choice("type", "", "adaptive", "enabled", "disabled")
	budget = int(o.integer("budgetTokens", 0, 1, maxCount))
	switch {
	case kind == "":
		o.fail("type: is required")
	case kind == "enabled" && budget == 0:
		o.fail("budgetTokens: is required with type enabled")
	case kind != "enabled" && budget != 0:
		o.fail("budgetTokens: goes with type enabled only")
	}
	a.adopt("thinking", o)
	return kind, budget
}

func outputSchema(a *arguments) json.RawMessage {
	o := a.object("outputFormat", "type", "schema")
	if o == nil {
		return nil
	}
	if o.choice("type", "", "json_schema") == "" {
		o.fail("type: is required")
	}
	if !o.has("schema") {
		o.fail("schema: is required")
	}
	schema := o.open("schema", nil)
	a.adopt("outputFormat", o)
	return schema
}

func budget(a *arguments) float64 {
	usd := a.number("maxBudgetUsd", 0)
	if a.has("maxBudgetUsd") && usd <= 0 {
		a.fail("maxBudgetUsd: want a number above 0, got %s", a.values["maxBudgetUsd"])
	}
	return usd
}

func environment(a *arguments) map[string]string {
	if !a.has("env") {
		return nil
	}
	env := map[string]string{}
	a.open("env", func(name string, v json.RawMessage) string {
		if kindOf(v) != "a string" {
			return "want a string, got " + kindOf(v)
		}
		one := arguments{values: map[string]json.RawMessage{name: v}}
		env[name] = one.free(name)
		return ""
	})
	return env
}

// wrongAgent checks what the CLI cannot do without; the rest is policy's.
func wrongAgent(_ string, v json.RawMessage) string {
	fields, err := members(v)
	if err != nil {
		return err.Error()
	}
	a := arguments{values: map[string]json.RawMessage{}}
	for _, f := range fields {
		a.values[f.name] = f.value
	}
	a.required("description")
	a.required("prompt")
	if a.err != nil {
		return messageOf(a.err)
	}
	return ""
}

func wrongServer(_ string, v json.RawMessage) string {
	if kindOf(v) != "an object" {
		return "want an object, got " + kindOf(v)
	}
	return ""
}
