package policy

import (
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

//go:generate go test -run TestSchemasAreCurrent|TestReferenceIsCurrent -update .

// commonInput are the fields every entrypoint's document begins with. All
// fields of all documents are always there, empty rather than absent, because
// a rule that reads an absent field says nothing. The doc tags are what the
// schemas and the reference page say; see schema.go.
type commonInput struct {
	Schema     string       `json:"schema" doc:"name and version of this document"`
	NowNS      int64        `json:"now_ns" doc:"time of the decision, nanoseconds since 1970"`
	DecisionID string       `json:"decision_id" doc:"id of this decision in the decision log"`
	Profile    string       `json:"profile" doc:"built-in profile in force"`
	Server     serverFacts  `json:"server"`
	Caller     callerFacts  `json:"caller"`
	Session    sessionInput `json:"session"`
	Agent      agentInput   `json:"agent"`
	Budget     budgetInput  `json:"budget"`
	History    historyInput `json:"history"`
}

type serverFacts struct {
	ID       string        `json:"id" doc:"of this server's run"`
	Version  string        `json:"version" doc:"of Gatehouse"`
	Revision revisionInput `json:"revision"`
}

type revisionInput struct {
	Builtin string `json:"builtin" doc:"digest of the built-in layer"`
	Org     string `json:"org" doc:"digest, or revision of its bundle; empty without that layer"`
	User    string `json:"user" doc:"digest; empty without that layer"`
	Project string `json:"project" doc:"digest; empty without that layer"`
}

type callerFacts struct {
	Client     string   `json:"client" doc:"name the MCP client gave; terminal for gatehouse run"`
	Version    string   `json:"version" doc:"of the client"`
	Transport  string   `json:"transport" doc:"stdio, terminal, http"`
	Subject    string   `json:"subject" doc:"authenticated identity; empty over stdio"`
	Groups     []string `json:"groups" doc:"of the subject"`
	PeerUID    int      `json:"peer_uid" doc:"user id of the peer process; -1 when not known"`
	RemoteAddr string   `json:"remote_addr" doc:"address of the peer; empty over stdio"`
}

type sessionInput struct {
	ID                  string            `json:"id" doc:"UUID"`
	Parent              string            `json:"parent" doc:"session this one was forked from"`
	Cwd                 string            `json:"cwd" doc:"absolute, links resolved"`
	Roots               []string          `json:"roots" doc:"folders sessions may work in, absolute, links resolved"`
	AdditionalDirs      []string          `json:"additional_dirs" doc:"further folders the caller was granted"`
	Mode                string            `json:"mode" doc:"permission mode; outside of a session empty" enum:"default,acceptEdits,plan,dontAsk,delegate,bypassPermissions,"`
	Trusted             bool              `json:"trusted" doc:"the folder's own settings are loaded live"`
	Model               string            `json:"model"`
	Turn                int               `json:"turn" doc:"number of the running turn, from 1"`
	Labels              map[string]string `json:"labels" doc:"given at the start"`
	StartedNS           int64             `json:"started_ns" doc:"nanoseconds since 1970"`
	InitialPromptSHA256 string            `json:"initial_prompt_sha256" doc:"hexadecimal"`
	AllowedTools        []string          `json:"allowed_tools" doc:"the caller's list, as written"`
	DisallowedTools     []string          `json:"disallowed_tools" doc:"the caller's list, as written"`
	Sandbox             bool              `json:"sandbox" doc:"the CLI's sandbox was asked for"`
	McpServers          []string          `json:"mcp_servers" doc:"names of the MCP servers it was given, as their tools spell them"`
	McpServersKnown     bool              `json:"mcp_servers_known" doc:"false outside of a session, as when a call is tried by hand"`
	InprocServers       []string          `json:"inproc_servers" doc:"names of the servers in this process it was given, whose tools are of kind sdk"`
	NoHooks             bool              `json:"no_hooks" doc:"the caller wants no hooks but the gate's; others never run"`
	NoTickets           bool              `json:"no_tickets" doc:"the caller wants no tickets written"`
}

type agentInput struct {
	ID              string `json:"id" doc:"empty on the main thread"`
	Type            string `json:"type" doc:"subagent_type; empty when not known"`
	Depth           int    `json:"depth" doc:"0 on the main thread"`
	ParentToolUseID string `json:"parent_tool_use_id"`
}

type budgetInput struct {
	USD        float64 `json:"usd" doc:"spent so far"`
	USDLimit   float64 `json:"usd_limit" doc:"0 = none"`
	Turns      int     `json:"turns" doc:"finished, over the session's whole life"`
	TurnsLimit int     `json:"turns_limit" doc:"0 = none"`
	ToolCalls  int     `json:"tool_calls" doc:"judged so far"`
	WallS      int     `json:"wall_s" doc:"seconds since the start"`
}

type historyInput struct {
	ToolCalls int            `json:"tool_calls" doc:"judged so far"`
	Denies    int            `json:"denies"`
	Asks      int            `json:"asks"`
	Last      []recentInput  `json:"last" doc:"at most 8, oldest first"`
	Tools     map[string]int `json:"tools" doc:"calls by tool name"`
	Taint     []string       `json:"taint" doc:"key:value of the labels of calls that were let through"`
}

type recentInput struct {
	Tool   string `json:"tool"`
	Effect string `json:"effect" enum:"halt,deny,ask,modify,allow,abstain"`
	Rule   string `json:"rule"`
	AgoS   int    `json:"ago_s" doc:"seconds ago"`
}

// permissionInput is the document permission/v1.
type permissionInput struct {
	commonInput
	Cwd                string                  `json:"cwd" doc:"folder the call runs in, as a cd of an earlier call left it; not absolute when not known"`
	Door               string                  `json:"door" doc:"where the call was met" enum:"pre_tool_use,can_use_tool,answer,mention,elicitation"`
	Title              string                  `json:"title" doc:"the CLI's one-line description; the model may have written it"`
	Tool               toolInput               `json:"tool"`
	Suggestions        []any                   `json:"suggestions" doc:"the CLI's permission suggestions, as sent"`
	BlockedPath        string                  `json:"blocked_path" doc:"the path the CLI asks for"`
	Paths              []facts.Path            `json:"paths" doc:"every path of the call"`
	PathsKnown         bool                    `json:"paths_known" doc:"false for tools whose arguments are not known; an empty list then means nothing"`
	PathsPlain         bool                    `json:"paths_plain" doc:"there are paths, and each is certain, inside, neither protected nor sensitive and spelt plainly"`
	Bash               facts.Shell             `json:"bash" doc:"of tool Bash; ok is false for others"`
	URL                facts.URL               `json:"url" doc:"of an argument url"`
	Diff               facts.Diff              `json:"diff" doc:"of tools that edit files"`
	Signals            map[string]signalInput  `json:"signals" doc:"further facts by name"`
	Plugins            map[string]pluginOutput `json:"plugins" doc:"what plugins said, by their names; without one that was not heard"`
	AllowedByCaller    ruleMatch               `json:"allowed_by_caller"`
	DisallowedByCaller ruleMatch               `json:"disallowed_by_caller"`
}

type toolInput struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind" doc:"sdk for a tool of a server in this process" enum:"builtin,mcp,sdk"`
	Server string         `json:"server" doc:"of a tool of kind mcp or sdk"`
	UseID  string         `json:"use_id"`
	Input  map[string]any `json:"input" doc:"the tool's own arguments"`
}

type signalInput struct {
	OK    bool `json:"ok"`
	Value any  `json:"value"`
	MS    int  `json:"ms"`
}

// inprocInput is the document inproc/v1: a call of a tool that lives in this
// server's process, or its result.
type inprocInput struct {
	commonInput
	Phase              string         `json:"phase" enum:"call,result"`
	Tool               toolInput      `json:"tool"`
	Result             resultInput    `json:"result" doc:"empty in phase call"`
	DurationMS         int            `json:"duration_ms" doc:"0 in phase call"`
	PermissionDecision permittedInput `json:"permission_decision" doc:"how the call passed the gate"`
}

type resultInput struct {
	IsError   bool     `json:"is_error"`
	Bytes     int      `json:"bytes"`
	Blocks    []string `json:"blocks" doc:"kinds of the content blocks"`
	JSONShape string   `json:"json_shape" doc:"kind of the structured content: object, array, string, number, boolean, null; empty without one"`
}

type permittedInput struct {
	Effect   string `json:"effect" doc:"abstain when the call passed no gate" enum:"halt,deny,ask,modify,allow,abstain"`
	Rule     string `json:"rule"`
	Approver string `json:"approver" doc:"who answered, for an ask"`
}
