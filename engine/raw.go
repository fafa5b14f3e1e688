package engine

import "encoding/json"

// raw is the caller's request as policy input; for Go callers it is made of the
// fields, in the form clients write.
func (p *StartParams) raw() map[string]json.RawMessage {
	if p.Raw != nil {
		return p.Raw
	}
	raw := rawParameters{}
	raw.set("prompt", p.Prompt, true)
	raw.set("cwd", p.Cwd, p.Cwd != "")
	raw.set("allowedTools", p.AllowedTools, len(p.AllowedTools) > 0)
	raw.set("disallowedTools", p.DisallowedTools, len(p.DisallowedTools) > 0)
	raw.set("tools", p.Tools, p.Tools != nil)
	raw.set("persistSession", p.PersistSession, p.PersistSession != nil)
	raw.set("permissionMode", p.PermissionMode, p.PermissionMode != "")
	raw.set("noHooks", p.NoHooks, p.NoHooks)
	raw.set("noTickets", p.NoTickets, p.NoTickets)
	raw.set("timeout", p.TurnTimeout.Milliseconds(), p.TurnTimeout > 0)
	raw.set("maxTurns", p.MaxTurns, p.MaxTurns > 0)
	raw.set("maxBudgetUsd", p.MaxBudgetUSD, p.MaxBudgetUSD > 0)
	raw.set("agents", p.Agents, len(p.Agents) > 0)
	raw.set("additionalDirectories", p.AdditionalDirs, len(p.AdditionalDirs) > 0)
	raw.set("pathToClaudeCodeExecutable", p.Executable, p.Executable != "")
	raw.set("mcpServers", p.McpServers, len(p.McpServers) > 0)
	raw.set("sandbox", p.Sandbox, len(p.Sandbox) > 0)
	raw.set("settingSources", p.SettingSources, p.SettingSources != nil)
	raw.set("strictMcpConfig", p.StrictMcpConfig, p.StrictMcpConfig)
	raw.set("enableFileCheckpointing", p.FileCheckpoints, p.FileCheckpoints)
	raw.set("debug", p.Debug, p.Debug)
	raw.set("debugFile", p.DebugFile, p.DebugFile != "")
	raw.model(p)
	for name, value := range p.Env {
		raw.set("env."+name, value, true)
	}
	return raw
}

// raw is the caller's request as policies and plugins see it.
func (p *ReplyParams) raw() map[string]json.RawMessage {
	if p.Raw != nil {
		return p.Raw
	}
	raw := rawParameters{}
	raw.set("prompt", p.Prompt, true)
	raw.set("forkSession", p.Fork, p.Fork)
	raw.set("sessionInitTimeoutMs", p.SessionInitTimeout.Milliseconds(), p.SessionInitTimeout > 0)
	raw.set("permissionRequestTimeoutMs", p.PermissionTimeout.Milliseconds(), p.PermissionTimeout > 0)
	raw.set("timeout", p.TurnTimeout.Milliseconds(), p.TurnTimeout > 0)
	return raw
}

// model adds what shapes the model's answers.
func (raw rawParameters) model(p *StartParams) {
	raw.set("model", p.Model, p.Model != "")
	raw.set("fallbackModel", p.FallbackModel, p.FallbackModel != "")
	raw.set("agent", p.Agent, p.Agent != "")
	raw.set("effort", p.Effort, p.Effort != "")
	raw.set("betas", p.Betas, len(p.Betas) > 0)
	raw.set("includePartialMessages", p.PartialMessages, p.PartialMessages)
	switch {
	case p.SystemPrompt != nil:
		raw.set("systemPrompt", p.SystemPrompt, true)
	case p.AppendPrompt != "":
		raw.set("systemPrompt", map[string]string{"type": "preset", "preset": "claude_code", "append": p.AppendPrompt}, true)
	}
	if len(p.OutputSchema) > 0 {
		raw.set("outputFormat", map[string]any{"type": "json_schema", "schema": p.OutputSchema}, true)
	}
	switch p.Thinking {
	case "":
	case "enabled":
		raw.set("thinking", map[string]any{"type": p.Thinking, "budgetTokens": p.ThinkingBudget}, true)
	default:
		raw.set("thinking", map[string]any{"type": p.Thinking}, true)
	}
}

// rawParameters are encoded values by parameter name.
type rawParameters map[string]json.RawMessage

func (raw rawParameters) set(name string, value any, present bool) {
	if !present {
		return
	}
	if b, err := json.Marshal(value); err == nil {
		raw[name] = b
		return
	}
	raw[name] = json.RawMessage("null") // the name still reaches policy
}
