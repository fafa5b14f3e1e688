package script

import (
	"slices"
	"strconv"
	"strings"
)

// newer reports whether the version is one of those that tell a server's source,
// follow changes of a list of tools and have other words for errors.
func (p *process) newer() bool {
	var have [3]int
	for i, part := range strings.SplitN(p.sc.version(), ".", 3) {
		have[i], _ = strconv.Atoi(part) // what is no number counts as 0
	}
	return slices.Compare(have[:], []int{2, 1, 329}) >= 0
}

// splitTool finds the server that has a tool, and the tool's name there: names of
// tools are made normal for the model, and calls carry the server's own. Of two
// that become the same the first one is meant.
func (p *process) splitTool(name string) (*mcpServer, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		tool, ok := strings.CutPrefix(name, toolPrefix(s.name))
		if !ok {
			continue
		}
		for _, t := range s.tools {
			if normal(t.Name) == tool {
				return s, t.Name
			}
		}
		return s, tool
	}
	return nil, ""
}

func toolPrefix(server string) string { return "mcp__" + normal(server) + "__" }

func normal(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// offered is what init says of the servers and their tools.
func (p *process) offered() (tools []string, servers []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	servers = []any{}
	for _, s := range p.servers {
		if s.status == "" {
			continue
		}
		shown := map[string]any{"name": s.name, "status": s.status}
		if p.newer() {
			shown["source"] = "sdk"
		}
		servers = append(servers, shown)
		for _, t := range s.tools {
			if name := toolPrefix(s.name) + normal(t.Name); !p.opt.hidden(name) {
				tools = append(tools, name)
			}
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools), servers
}

// mcpStatus is the answer to mcp_status.
func (p *process) mcpStatus() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []any{}
	for _, s := range p.servers {
		shown := map[string]any{"name": s.name, "status": s.status, "scope": "dynamic"}
		if s.status == "" {
			shown["status"] = "pending"
		}
		tools := []any{}
		for _, t := range s.tools {
			tools = append(tools, map[string]any{"name": t.Name, "annotations": map[string]any{"readOnly": t.Annotations.ReadOnly}})
		}
		if s.status == "connected" {
			shown["tools"] = tools
		}
		all = append(all, shown)
	}
	return all
}

// find returns a server's tool; nil if it is not on the list.
func (p *process) find(s *mcpServer, tool string) *mcpTool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(t mcpTool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	t := s.tools[i]
	return &t
}

// parallelTool reports whether calls of the tool run beside others: those whose
// server says that they only read.
func (p *process) parallelTool(name string) bool {
	s, tool := p.splitTool(name)
	if s == nil {
		return false
	}
	t := p.find(s, tool)
	return t != nil && t.Annotations.ReadOnly
}
