package policy

import (
	"net/url"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// permissionInput is the document permission/v1 that rules read as input. Its
// fields are always there, empty rather than absent, because a rule that reads
// an absent field says nothing. schema/permission.json describes it to the
// compiler; a test holds the two together.
type permissionInput struct {
	Schema             string       `json:"schema"`
	Profile            string       `json:"profile"`
	Door               string       `json:"door"`
	Title              string       `json:"title"`
	Tool               toolInput    `json:"tool"`
	Session            sessionInput `json:"session"`
	Agent              agentInput   `json:"agent"`
	Budget             budgetInput  `json:"budget"`
	History            historyInput `json:"history"`
	Paths              []facts.Path `json:"paths"`
	PathsKnown         bool         `json:"paths_known"`
	Bash               facts.Shell  `json:"bash"`
	Git                gitInput     `json:"git"`
	URL                urlInput     `json:"url"`
	AllowedByCaller    ruleMatch    `json:"allowed_by_caller"`
	DisallowedByCaller ruleMatch    `json:"disallowed_by_caller"`
}

type toolInput struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"` // "builtin" or "mcp"
	Server string         `json:"server"`
	UseID  string         `json:"use_id"`
	Input  map[string]any `json:"input"`
}

type sessionInput struct {
	ID              string   `json:"id"`
	Cwd             string   `json:"cwd"`
	Roots           []string `json:"roots"`
	AdditionalDirs  []string `json:"additional_dirs"`
	Mode            string   `json:"mode"`
	Trusted         bool     `json:"trusted"`
	Model           string   `json:"model"`
	Turn            int      `json:"turn"`
	AllowedTools    []string `json:"allowed_tools"`
	DisallowedTools []string `json:"disallowed_tools"`
}

type agentInput struct {
	ID string `json:"id"`
}

type budgetInput struct {
	USD        float64 `json:"usd"`
	USDLimit   float64 `json:"usd_limit"`   // 0 = none
	TurnsLimit int     `json:"turns_limit"` // 0 = none
	ToolCalls  int     `json:"tool_calls"`
}

type historyInput struct {
	Denies int `json:"denies"`
	Asks   int `json:"asks"`
}

type gitInput struct {
	RunsPrograms bool `json:"runs_programs"` // the repository's own config could start some
}

type urlInput struct {
	Scheme string `json:"scheme"`
	Host   string `json:"host"` // letters lowered, no port
	Port   string `json:"port"`
}

// describe builds the input document of a call: the facts of its paths and
// shell text, and what the caller's own lists say about it.
func (s *Set) describe(r permission.Request, input map[string]any) permissionInput {
	resolver := s.resolver(r.Session)
	in := permissionInput{
		Schema: "permission/v1", Profile: s.options.Profile, Door: string(r.Door), Title: r.Title,
		Tool:  describeTool(r, input),
		Agent: agentInput{r.AgentID},
		Session: sessionInput{
			ID: r.SessionID, Cwd: r.Session.Cwd, Roots: list(r.Session.Roots), AdditionalDirs: list(r.Session.AdditionalDirs),
			Mode: r.Session.Mode, Trusted: r.Session.Trusted, Model: r.Session.Model, Turn: r.Session.Turn,
			AllowedTools: list(r.Session.AllowedTools), DisallowedTools: list(r.Session.DisallowedTools),
		},
		Budget:     budgetInput{r.Session.CostUSD, r.Session.MaxBudgetUSD, r.Session.MaxTurns, r.Session.ToolCalls},
		History:    historyInput{r.Session.Denies, r.Session.Asks},
		Paths:      resolver.Paths(r.Tool, input),
		PathsKnown: facts.Known(r.Tool),
		URL:        describeURL(input),
		Bash:       facts.Shell{Commands: []facts.Command{}},
	}
	if r.Tool == "Bash" {
		s.describeShell(&in, resolver)
	}
	in.AllowedByCaller = matchCaller(in, resolver, true)
	in.DisallowedByCaller = matchCaller(in, resolver, false)
	return in
}

func (s *Set) resolver(session permission.Session) facts.Resolver {
	roots := append(list(session.Roots), session.AdditionalDirs...)
	return facts.Resolver{Cwd: session.Cwd, Roots: roots, Home: s.options.Home, Protected: s.options.Protected}
}

func (s *Set) describeShell(in *permissionInput, resolver facts.Resolver) {
	command, _ := in.Tool.Input["command"].(string)
	in.Bash, in.Paths = resolver.Shell(command)
	for _, c := range in.Bash.Commands {
		if c.Name == "git" {
			in.Git.RunsPrograms = facts.GitRunsPrograms(in.Session.Cwd)
			return
		}
	}
}

func describeTool(r permission.Request, input map[string]any) toolInput {
	t := toolInput{Name: r.Tool, Kind: "builtin", UseID: r.ToolUseID, Input: input}
	if rest, ok := strings.CutPrefix(r.Tool, "mcp__"); ok {
		t.Kind = "mcp"
		t.Server, _, _ = strings.Cut(rest, "__")
	}
	return t
}

func describeURL(input map[string]any) urlInput {
	text, _ := input["url"].(string)
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || text == "" {
		return urlInput{}
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if facts.NamesMetadata(host) { // other spellings reach it too
		host = "169.254.169.254"
	}
	return urlInput{Scheme: strings.ToLower(u.Scheme), Host: host, Port: u.Port()}
}

// list copies a list so that an empty one is written as [].
func list(in []string) []string { return append(make([]string, 0, len(in)), in...) }
