package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// This file owns which tool servers of this process a session is offered. They are
// decided once, when it begins; every process of it declares them to the CLI.

// Sources of tool servers.
const (
	sourceGatehouse = "gatehouse" // Options.ToolServers
	sourcePlugin    = "plugin"
)

// namesOfServers says which names a server can have.
const namesOfServers = "take 1 to 64 of A-Z, a-z, 0-9, _ and -, with no _ at either end and no two in a row"

// offeredServer is one tool server of this process.
type offeredServer struct {
	name, source string
	server       ToolServer
}

// toolOffer is what a session could be offered, and what could not be: the servers
// in the order of their names.
type toolOffer struct {
	servers []offeredServer
	leftOut []toldServer
}

func (o toolOffer) has(name string) bool {
	return slices.ContainsFunc(o.servers, func(s offeredServer) bool { return s.name == name })
}

// taken says whose a name is, "" where nobody's: also of one that a plugin has and that
// could not be offered, since rules are written for it.
func (o toolOffer) taken(name string) (source string) {
	for _, s := range o.servers {
		if s.name == name {
			return s.source
		}
	}
	if slices.ContainsFunc(o.leftOut, func(t toldServer) bool { return t.Name == name }) {
		return sourcePlugin
	}
	return ""
}

// checkToolServers copies the servers, so that none comes or goes unchecked.
func (o *Options) checkToolServers() error {
	if len(o.ToolServers) > maxServers {
		return fmt.Errorf("engine options: ToolServers has %d servers, at most %d are taken", len(o.ToolServers), maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(o.ToolServers)) {
		switch {
		case name == "" || toolServer(name) != name:
			return fmt.Errorf("engine options: ToolServers: %q is no name of a server; %s", clip(name), namesOfServers)
		case o.ToolServers[name] == nil:
			return fmt.Errorf("engine options: ToolServers: server %q is nil", name)
		}
	}
	o.ToolServers = maps.Clone(o.ToolServers)
	return nil
}

// offer is what the session could be offered. Plugins are asked once a session.
func (s *Session) offer() toolOffer {
	s.offering.Do(func() { s.toolOffer = s.engine.offerTools() })
	return s.toolOffer
}

func (e *Engine) offerTools() (o toolOffer) {
	for name, server := range e.o.ToolServers {
		o.servers = append(o.servers, offeredServer{name, sourceGatehouse, server})
	}
	plugins, err := e.pluginServers()
	if err != nil {
		e.log.Error("tool servers of plugins", "error", err)
		o.leave("", "engine.plugin_servers", "the plugins' tool servers could not be listed (internal error); the log says more")
	}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		o.addPlugin(name, plugins[name])
	}
	slices.SortFunc(o.servers, func(a, b offeredServer) int { return strings.Compare(a.name, b.name) })
	return o
}

func (o *toolOffer) addPlugin(name string, server ToolServer) {
	switch {
	case name == "" || toolServer(name) != name:
		o.leave(name, "engine.server_name", "it is no name of a server; "+namesOfServers)
	case server == nil:
		o.leave(name, "engine.server_form", "the plugin gave no server")
	case o.has(name):
		o.leave(name, "engine.server_taken", "a tool server of Gatehouse itself has that name; rename one of them")
	case len(o.servers) >= maxServers:
		o.leave(name, "engine.server_limit", fmt.Sprintf("a session is handed at most %d servers", maxServers))
	default:
		o.servers = append(o.servers, offeredServer{name, sourcePlugin, server})
	}
}

func (o *toolOffer) leave(name, rule, reason string) {
	if len(o.leftOut) < maxServers {
		o.leftOut = append(o.leftOut, toldServer{Name: clip(name), Source: sourcePlugin, Rule: rule, Reason: reason})
	}
}

// Bounds of Options.PluginServers.
const (
	pluginServersWait = 5 * time.Second
	maxPluginAsking   = 16 // at once: one that never returns must not pile up
)

// pluginServers asks the program, which may take its time but not hold up a start for ever.
func (e *Engine) pluginServers() (map[string]ToolServer, error) {
	if e.o.PluginServers == nil {
		return nil, nil
	}
	if e.asking.Add(1) > maxPluginAsking {
		e.asking.Add(-1)
		return nil, fmt.Errorf("%d calls of PluginServers have not returned", maxPluginAsking)
	}
	type offered struct {
		servers map[string]ToolServer
		err     error
	}
	said := make(chan offered, 1)
	go func() { // ends when the program returns
		defer e.asking.Add(-1)
		servers, err := e.askPlugins()
		said <- offered{servers, err}
	}()
	timer := time.NewTimer(pluginServersWait)
	defer timer.Stop()
	select {
	case o := <-said:
		return o.servers, o.err
	case <-timer.C:
		return nil, fmt.Errorf("PluginServers did not return within %s", pluginServersWait)
	}
}

func (e *Engine) askPlugins() (servers map[string]ToolServer, err error) {
	defer func() {
		if p := recover(); p != nil {
			servers, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return maps.Clone(e.o.PluginServers()), nil
}

// refuseTaken refuses a caller's server that has the name of one of ours: rules are
// written for the name, and the CLI would keep one of the two. It does so for what
// strictMcpConfig leaves out too.
func (s *Session) refuseTaken() error {
	callers := membersOf(s.params.McpServers)
	if len(callers) == 0 {
		return nil
	}
	offer := s.offer()
	for _, name := range slices.Sorted(maps.Keys(callers)) {
		whose := ""
		switch offer.taken(name) {
		case sourceGatehouse:
			whose = "of Gatehouse itself"
		case sourcePlugin:
			whose = "of a plugin"
		default:
			continue
		}
		return Errorf(InvalidArgument, "mcpServers: %q is the name of a tool server %s; give yours another name", name, whose)
	}
	return nil
}

// takeToolServers asks for each tool server whether the session may have it.
func (s *Session) takeToolServers(ctx context.Context) (handed, leftOut []toldServer) {
	offer := s.offer()
	leftOut = slices.Clone(offer.leftOut)
	for _, o := range offer.servers {
		r := s.serverRequest(admission.Server{Name: o.name, Source: o.source, Transport: "sdk"})
		d, err := s.engine.judgeRecorded(ctx, s, r)
		if err != nil || d.Effect != permission.Allow {
			leftOut = append(leftOut, toldServer{Name: o.name, Source: o.source, Rule: d.Rule, Reason: d.Reason})
			continue
		}
		s.mu.Lock()
		s.toolServers = append(s.toolServers, o)
		s.mu.Unlock()
		handed = append(handed, toldServer{Name: o.name, Source: o.source})
	}
	return handed, leftOut
}

// toolServer is a tool server the session has, nil for another name.
func (s *Session) toolServer(name string) *offeredServer {
	for i, o := range s.toolServers {
		if o.name == name {
			return &s.toolServers[i]
		}
	}
	return nil
}

// toolServerNames are the names of the tool servers the session has, sorted; never nil.
func (s *Session) toolServerNames() []string {
	names := make([]string, 0, len(s.toolServers))
	for _, o := range s.toolServers {
		names = append(names, o.name)
	}
	return names
}

func (p *process) tellToolServer(name, message string, more map[string]any) {
	fields := map[string]any{"server": name}
	maps.Copy(fields, more)
	p.session.notice("tool_server", message, fields)
}

// tellOffline tells of tool servers that the CLI says it is not connected to, each
// once a process. It goes on without their tools.
func (p *process) tellOffline(f frameSystem) {
	for _, m := range f.McpServers {
		if m.Status == "connected" || m.Status == "pending" || m.Status == "" || p.offline[m.Name] || p.session.toolServer(m.Name) == nil {
			continue
		}
		if p.offline == nil {
			p.offline = make(map[string]bool) // at most one for each tool server
		}
		p.offline[m.Name] = true
		p.tellToolServer(m.Name, fmt.Sprintf("the CLI is not connected to tool server %q (status %s); its tools are missing", m.Name, clip(m.Status)), map[string]any{"status": clip(m.Status)})
	}
}
