package policy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// describe builds the input document of a call: the facts of its paths and
// shell text, and what the caller's own lists say about it.
func (s *Set) describe(r permission.Request, input map[string]any) permissionInput {
	resolver := s.resolver(r)
	in := permissionInput{
		commonInput: s.describeCommon("permission/v1", r),
		Cwd:         folderOf(r), Door: string(r.Door), Title: r.Title, Tool: describeTool(r, input),
		Suggestions: suggestions(r.Suggested), BlockedPath: r.Blocked,
		Paths: resolver.Paths(r.Tool, input), PathsKnown: facts.Known(r.Tool),
		URL: facts.DescribeURL(text(input, "url")), Diff: resolver.Diff(r.Tool, input),
		Plugins: describePlugins(r.Annotations),
	}
	if r.Tool == "Bash" {
		in.Bash, in.Paths = resolver.Shell(text(input, "command"))
	}
	in.PathsPlain = pathsPlain(in.Paths, r.Tool == "Bash")
	in.AllowedByCaller = matchCaller(&in, resolver, true)
	in.DisallowedByCaller = matchCaller(&in, resolver, false)
	return in
}

func (s *Set) describeCommon(schema string, r permission.Request) commonInput {
	now := time.Now()
	c := commonInput{
		Schema: schema, NowNS: now.UnixNano(), DecisionID: newDecisionID(), Profile: s.options.Profile,
		Server: serverFacts{ID: s.options.ServerID, Version: s.options.Version, Revision: s.revisions},
		Caller: callerOf(r.Caller),
		Agent:  agentInput{ID: r.AgentID, Type: r.Agent.Type, Depth: r.Agent.Depth, ParentToolUseID: r.Agent.ParentToolUseID},
	}
	c.session(r.SessionID, r.Session, now)
	return c
}

// session fills what is known of the session itself.
func (c *commonInput) session(id string, s permission.Session, now time.Time) {
	c.Session = sessionInput{
		ID: id, Parent: s.Parent, Cwd: s.Cwd, Roots: s.Roots, AdditionalDirs: s.AdditionalDirs,
		Mode: s.Mode, Trusted: s.Trusted, Model: s.Model, Turn: s.Turn, Labels: s.Labels,
		InitialPromptSHA256: s.PromptSHA256, AllowedTools: s.AllowedTools, DisallowedTools: s.DisallowedTools, Sandbox: s.SandboxOn,
		McpServers: s.McpServers, McpServersKnown: s.McpServers != nil, InprocServers: s.InprocServers,
		NoHooks: s.NoHooks, NoTickets: s.NoTickets,
	}
	c.Budget = budgetInput{USD: s.CostUSD, USDLimit: s.MaxBudgetUSD, Turns: s.Turns, TurnsLimit: s.MaxTurns, ToolCalls: s.ToolCalls}
	c.History = historyInput{ToolCalls: s.ToolCalls, Denies: s.Denies, Asks: s.Asks, Tools: s.Tools, Taint: s.Taint}
	if !s.Started.IsZero() {
		c.Session.StartedNS = s.Started.UnixNano()
		c.Budget.WallS = int(now.Sub(s.Started) / time.Second)
	}
	for _, recent := range s.Recent {
		c.History.Last = append(c.History.Last, recentInput{recent.Tool, recent.Effect.String(), recent.Rule, int(now.Sub(recent.At) / time.Second)})
	}
}

func callerOf(c permission.Caller) callerFacts {
	return callerFacts{Client: c.Client, Version: c.Version, Transport: c.Transport, Subject: c.Subject, Groups: c.Groups, PeerUID: c.UID, RemoteAddr: c.Remote}
}

// suggestions decodes the CLI's list; anything else is none.
func suggestions(raw json.RawMessage) []any {
	value, err := decodeValue(raw)
	if err != nil || len(raw) == 0 {
		return nil
	}
	all, _ := value.([]any)
	return all
}

// text returns an argument that is a string, else "".
func text(input map[string]any, name string) string {
	s, _ := input[name].(string)
	return s
}

// folderOf is where a call runs.
func folderOf(r permission.Request) string { return cmp.Or(r.Folder, r.Session.Cwd) }

func (s *Set) resolver(r permission.Request) facts.Resolver {
	resolver := facts.NewResolver(s.places, r.Session.Cwd, append(list(r.Session.Roots), r.Session.AdditionalDirs...))
	resolver.Start, resolver.Cwd = r.Session.Cwd, folderOf(r)
	return resolver
}

func describeTool(r permission.Request, input map[string]any) toolInput {
	t := toolInput{Name: r.Tool, Kind: "builtin", UseID: r.ToolUseID, Input: input}
	if rest, ok := strings.CutPrefix(r.Tool, "mcp__"); ok {
		t.Kind = "mcp"
		t.Server, _, _ = strings.Cut(rest, "__")
		if slices.Contains(r.Session.InprocServers, t.Server) && !ofOther(rest, t.Server, r.Session.McpServers) {
			t.Kind = "sdk"
		}
	}
	return t
}

// ofOther reports whether a tool can be one of another server than own, whose name
// holds the separator. The names of servers in this process never do.
func ofOther(rest, own string, servers []string) bool {
	return slices.ContainsFunc(servers, func(name string) bool { return name != own && strings.HasPrefix(rest, name+"__") })
}

// list copies a list so that an empty one is written as [].
func list(in []string) []string { return append(make([]string, 0, len(in)), in...) }
