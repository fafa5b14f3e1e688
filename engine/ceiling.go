package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// narrowed lays the options of a resume over those its token signs. The signed
// ones are a ceiling: what grants something may be repeated or given up, never
// added. What only shapes answers (model, effort, thinking, betas, output
// format, partial messages) is free, as it is at a start.
// sources are the settings an absent settingSources stands for in the folder.
func narrowed(signed, given StartParams, sources []string) (StartParams, error) {
	c := ceiling{signed: signed, given: given, sources: sources, names: given.raw(), out: signed}
	c.tools()
	c.mode()
	c.limits()
	c.places()
	c.programs()
	c.free()
	c.out.Prompt, c.out.Raw = given.Prompt, nil
	c.out.SessionInitTimeout, c.out.PermissionTimeout = given.SessionInitTimeout, given.PermissionTimeout
	return c.out, c.err
}

type ceiling struct {
	signed, given, out StartParams
	sources            []string
	names              map[string]json.RawMessage // of the parameters given
	err                error                      // the first that widens
}

func (c *ceiling) has(name string) bool { return c.names[name] != nil }

func (c *ceiling) refuse(name, why string) {
	if c.err == nil {
		c.err = Errorf(PermissionDenied, "resume refused by rule engine.resume_token: %s %s; leave it out, or start a new session", name, why)
	}
}

// within takes a given list when every entry is one of the signed.
func (c *ceiling) within(name string, given, signed []string) []string {
	for _, g := range given {
		if !slices.Contains(signed, g) {
			c.refuse(name, fmt.Sprintf("names %q, which the token does not cover", clip(g)))
		}
	}
	return given
}

func (c *ceiling) tools() {
	// Nothing runs unasked unless it is named again. A rule has to be the same
	// one: a pattern of a tool can grant what the tool's bare name does not.
	c.out.AllowedTools = c.within("allowedTools", c.given.AllowedTools, c.signed.AllowedTools)
	for _, rule := range c.given.DisallowedTools {
		if !slices.Contains(c.out.DisallowedTools, rule) {
			c.out.DisallowedTools = append(slices.Clone(c.out.DisallowedTools), rule)
		}
	}
	switch {
	case !c.has("tools"):
	case c.given.Tools == nil && c.signed.Tools != nil:
		c.refuse("tools", "asks for the whole set, which the token does not cover")
	case c.given.Tools != nil:
		c.out.Tools = c.given.Tools
		if c.signed.Tools != nil {
			c.within("tools", *c.given.Tools, *c.signed.Tools)
		}
	}
}

func (c *ceiling) limits() {
	if c.has("maxTurns") {
		c.out.MaxTurns = c.given.MaxTurns
		if c.signed.MaxTurns > 0 && (c.given.MaxTurns == 0 || c.given.MaxTurns > c.signed.MaxTurns) {
			c.refuse("maxTurns", fmt.Sprintf("is above the %d the token signs", c.signed.MaxTurns))
		}
	}
	if c.has("maxBudgetUsd") {
		c.out.MaxBudgetUSD = c.given.MaxBudgetUSD
		if c.signed.MaxBudgetUSD > 0 && (c.given.MaxBudgetUSD == 0 || c.given.MaxBudgetUSD > c.signed.MaxBudgetUSD) {
			c.refuse("maxBudgetUsd", fmt.Sprintf("is above the %g the token signs", c.signed.MaxBudgetUSD))
		}
	}
	if c.has("persistSession") {
		c.out.PersistSession = c.given.PersistSession
	}
}

func (c *ceiling) places() {
	if c.has("additionalDirectories") {
		c.out.AdditionalDirs = c.within("additionalDirectories", c.given.AdditionalDirs, c.signed.AdditionalDirs)
	}
	if c.has("settingSources") && c.given.SettingSources != nil {
		signed := c.sources
		if c.signed.SettingSources != nil {
			signed = *c.signed.SettingSources
		}
		c.within("settingSources", *c.given.SettingSources, signed)
		c.out.SettingSources = c.given.SettingSources
	}
	c.equal("debugFile", c.given.DebugFile, c.signed.DebugFile)
	for name, value := range c.given.Env {
		if signed, ok := c.signed.Env[name]; !ok || signed != value {
			c.refuse("env."+clip(name), "is not what the token signs")
		}
	}
}

// equal refuses a value that is given and differs.
func (c *ceiling) equal(name, given, signed string) {
	if c.has(name) && given != signed {
		c.refuse(name, "is not what the token signs")
	}
}

func (c *ceiling) programs() {
	c.equal("pathToClaudeCodeExecutable", c.given.Executable, c.signed.Executable)
	c.equal("sandbox", canonical(c.given.Sandbox), canonical(c.signed.Sandbox))
	c.members("mcpServers", c.given.McpServers, c.signed.McpServers, &c.out.McpServers)
	c.members("agents", c.given.Agents, c.signed.Agents, &c.out.Agents)
	if c.has("strictMcpConfig") {
		c.out.StrictMcpConfig = c.given.StrictMcpConfig
		if c.signed.StrictMcpConfig && !c.given.StrictMcpConfig {
			c.refuse("strictMcpConfig", "is true in the token")
		}
	}
	if !c.has("systemPrompt") {
		return
	}
	if (c.signed.SystemPrompt != nil || c.signed.AppendPrompt != "") &&
		(c.given.AppendPrompt != c.signed.AppendPrompt || !sameText(c.given.SystemPrompt, c.signed.SystemPrompt)) {
		c.refuse("systemPrompt", "is not what the token signs")
	}
	c.out.SystemPrompt, c.out.AppendPrompt = c.given.SystemPrompt, c.given.AppendPrompt
}

func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// members takes an object whose members are all in the signed one, unchanged.
func (c *ceiling) members(name string, given, signed json.RawMessage, out *json.RawMessage) {
	if !c.has(name) {
		return
	}
	var want, have map[string]json.RawMessage
	if json.Unmarshal(given, &want) != nil || len(signed) > 0 && json.Unmarshal(signed, &have) != nil {
		c.refuse(name, "is no object")
	}
	for member, value := range want {
		if ceil, ok := have[member]; !ok || canonical(ceil) != canonical(value) {
			c.refuse(name+"."+clip(member), "is not what the token signs")
		}
	}
	*out = given
}

// canonical is JSON with its keys sorted and its numbers as written.
func canonical(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// free takes what shapes answers and grants nothing.
func (c *ceiling) free() {
	g, o := c.given, &c.out
	for name, take := range map[string]func(){
		"model":                   func() { o.Model = g.Model },
		"fallbackModel":           func() { o.FallbackModel = g.FallbackModel },
		"agent":                   func() { o.Agent = g.Agent },
		"effort":                  func() { o.Effort = g.Effort },
		"betas":                   func() { o.Betas = g.Betas },
		"outputFormat":            func() { o.OutputSchema = g.OutputSchema },
		"thinking":                func() { o.Thinking, o.ThinkingBudget = g.Thinking, g.ThinkingBudget },
		"includePartialMessages":  func() { o.PartialMessages = g.PartialMessages },
		"enableFileCheckpointing": func() { o.FileCheckpoints = g.FileCheckpoints },
		"debug":                   func() { o.Debug = g.Debug },
	} {
		if c.has(name) {
			take()
		}
	}
}
