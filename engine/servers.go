package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// This file owns which MCP servers of the owner a session is handed. The CLI
// itself loads none (--strict-mcp-config): each is judged first, and what is
// admitted goes into the private file that also holds the caller's.

// Bounds of the owner's servers.
const (
	maxServers      = 64       // considered for one session
	maxServerConfig = 64 << 10 // bytes of one configuration
)

// Where a server of the owner is configured, as the CLI names it.
const (
	sourceLocal   = "local"   // the owner's own, for one folder
	sourceProject = "project" // .mcp.json of a trusted repository
	sourceUser    = "user"    // the owner's own, everywhere
)

// ownServer is one MCP server that is not the caller's. Its configuration can
// hold secrets; only what seen returns leaves it.
type ownServer struct {
	name, source string
	config       serverConfig
}

// serverConfig is what of a configuration is passed on. What is not here is
// dropped, so that nothing reaches the CLI that was not looked at.
type serverConfig struct {
	Type          string            `json:"type,omitempty"`
	Command       string            `json:"command,omitempty"`
	Args          []string          `json:"args,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	OAuth         json.RawMessage   `json:"oauth,omitempty"`
	Timeout       json.Number       `json:"timeout,omitempty"`
	AlwaysLoad    bool              `json:"alwaysLoad,omitempty"`
}

// toldServer is a server as clients are told of it.
type toldServer struct {
	Name   string `json:"name,omitempty"` // empty: all of the source
	Source string `json:"source"`
	Rule   string `json:"rule,omitempty"` // why it was left out
	Reason string `json:"reason,omitempty"`
}

// seen is the server as policy sees it: of env and headers the names alone.
func (o ownServer) seen() admission.Server {
	c := o.config
	s := admission.Server{Name: o.name, Source: o.source, Transport: c.Type, Command: c.Command, Args: c.Args, URL: c.URL}
	if c.Command == "" {
		s.Command = c.HeadersHelper
	}
	s.Env, s.Headers = foldedNames(c.Env, strings.ToUpper), foldedNames(c.Headers, strings.ToLower)
	return s
}

// foldedNames are the names of m in one case, sorted, each once.
func foldedNames(m map[string]string, fold func(string) string) []string {
	var all []string
	for name := range m {
		all = append(all, fold(name))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// decodeServer reads one configuration. Its errors hold nothing of the values.
func decodeServer(raw json.RawMessage) (serverConfig, error) {
	var c serverConfig
	switch {
	case len(raw) > maxServerConfig:
		return c, fmt.Errorf("its configuration has %d bytes, at most %d are taken", len(raw), maxServerConfig)
	case json.Unmarshal(raw, &c) != nil:
		return c, fmt.Errorf("its configuration has a member of the wrong type")
	}
	switch c.Type {
	case "", "stdio":
		if c.Command == "" {
			return c, fmt.Errorf("its configuration has no command")
		}
		return serverConfig{Type: "stdio", Command: c.Command, Args: c.Args, Env: c.Env, Timeout: c.Timeout, AlwaysLoad: c.AlwaysLoad}, nil
	case "http", "streamable-http", "sse", "ws":
		if c.URL == "" {
			return c, fmt.Errorf("its configuration has no url")
		}
		c.Type = strings.TrimPrefix(c.Type, "streamable-")
		c.Command, c.Args, c.Env = "", nil, nil
		return c, nil
	}
	return c, fmt.Errorf("its type is none of stdio, http, sse and ws")
}

var oddInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolPart is a server's name as it stands in the names of its tools.
func toolPart(name string) string { return oddInToolName.ReplaceAllString(name, "_") }

// toolServer is toolPart, "" when it would not tell which server a tool is of.
func toolServer(name string) string {
	name = toolPart(name)
	if name == "" || len(name) > 64 || strings.Contains(name, "__") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") {
		return ""
	}
	return name
}

// takeServers decides once which tool servers of this process and which of the
// owner's servers the session is handed, and tells. A server that cannot be read or
// is refused never fails a start.
func (s *Session) takeServers(ctx context.Context) {
	if s.params.StrictMcpConfig {
		return
	}
	handed, leftOut := s.takeToolServers(ctx)
	list := s.findServers()
	for _, o := range list.found {
		if rule, reason := s.refusesServer(o.config.started()); rule != "" {
			list.leave(o.name, o.source, rule, reason)
			continue
		}
		r := s.serverRequest(o.seen())
		if d, err := s.engine.judgeRecorded(ctx, s, r); err != nil || d.Effect != permission.Allow {
			list.leave(o.name, o.source, d.Rule, d.Reason)
			continue
		}
		s.mu.Lock()
		s.servers = append(s.servers, o)
		s.mu.Unlock()
		handed = append(handed, toldServer{Name: o.name, Source: o.source})
	}
	s.tellServers(handed, slices.Concat(leftOut, list.leftOut))
}

func (s *Session) tellServers(handed, leftOut []toldServer) {
	if len(handed)+len(leftOut) == 0 {
		return
	}
	message := "MCP servers"
	for i, t := range slices.Concat(handed, leftOut) {
		switch i {
		case len(handed):
			message += "; left out: "
		case 0:
			message += "; handed over: "
		default:
			message += ", "
		}
		message += cmp.Or(t.Name, "those of source "+t.Source)
		if t.Rule != "" {
			message += " (" + t.Rule + ")"
		}
	}
	s.notice("mcp_servers", message, map[string]any{
		"handedOver": slices.Concat([]toldServer{}, handed), "leftOut": slices.Concat([]toldServer{}, leftOut),
	})
}

func (s *Session) serverRequest(server admission.Server) admission.Request {
	return admission.Request{
		Action: admission.McpServer, SessionID: s.id, Server: server,
		Cwd: s.cwd, CwdInsideRoots: insideAny(s.cwd, s.engine.o.Roots), Roots: s.engine.o.Roots, Trusted: s.trusted,
		Session: s.facts(), Target: admission.Target{State: s.Info().State.String(), OwnedByPeer: true}, // its caller is handed it
	}
}

// wantsServers reports whether servers of a source may be handed over at all.
func (s *Session) wantsServers(source string) bool {
	if chosen := s.params.SettingSources; chosen != nil {
		return slices.Contains(*chosen, source)
	}
	return source != sourceProject || s.trusted
}

// mcpServers are the servers of one launch: the caller's, and the owner's unless
// it is isolated. nil means none.
func (s *Session) mcpServers(l launch) (json.RawMessage, error) {
	if len(s.servers) == 0 || l.isolated {
		return s.params.McpServers, nil
	}
	all, err := s.callersServers()
	if err != nil {
		return nil, Errorf(InvalidArgument, "mcpServers: want an object of server configurations: %w", err)
	}
	for _, o := range s.servers {
		raw, err := json.Marshal(o.config)
		if err != nil {
			return nil, Errorf(Internal, "MCP server %q of the owner: its configuration cannot be written", o.name)
		}
		all[o.name] = raw
	}
	return json.Marshal(all)
}

// serverNames are the servers the session was given, as the names of their
// tools spell them, sorted; never nil. The CLI loads no others.
func (s *Session) serverNames() []string {
	names := s.toolServerNames()
	for _, o := range s.servers {
		names = append(names, toolPart(o.name))
	}
	for name := range membersOf(s.params.McpServers) {
		names = append(names, toolPart(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Session) callersServers() (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	if len(s.params.McpServers) == 0 {
		return all, nil
	}
	if err := json.Unmarshal(s.params.McpServers, &all); err != nil {
		return nil, err
	}
	if all == nil { // null
		all = make(map[string]json.RawMessage)
	}
	return all, nil
}
