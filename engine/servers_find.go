package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// serverList gathers the owner's servers in the order of precedence.
type serverList struct {
	found    []ownServer
	leftOut  []toldServer
	taken    map[string]bool // names as they stand in tool names
	ours     toolOffer       // whose names are taken too
	disabled disabledServers
}

func (l *serverList) leave(name, source, rule, reason string) {
	if len(l.leftOut) < maxServers {
		l.leftOut = append(l.leftOut, toldServer{Name: clip(name), Source: source, Rule: rule, Reason: reason})
	}
}

// add takes the servers of one source. What stands in an earlier source wins.
func (l *serverList) add(source string, servers map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		tool := toolServer(name)
		switch {
		case tool == "":
			l.leave(name, source, "engine.server_name", "its name must have 1 to 64 characters and neither begin nor end with _ nor hold two in a row; rename it")
		case l.off(name, source):
			l.leave(name, source, "engine.server_disabled", "the owner switched it off (disabledMcpServers, disabledMcpjsonServers)")
		case l.ours.taken(tool) != "":
			l.leave(name, source, "engine.server_taken", "a tool server of Gatehouse itself, or of a plugin, has that name; rename one of them")
		case l.taken[tool]:
		case len(l.taken) >= maxServers:
			l.leave(name, source, "engine.server_limit", fmt.Sprintf("a session is handed at most %d servers", maxServers))
		default:
			l.taken[tool] = true
			l.take(name, source, servers[name])
		}
	}
}

func (l *serverList) take(name, source string, raw json.RawMessage) {
	config, err := decodeServer(raw)
	if err != nil {
		l.leave(name, source, "engine.server_form", err.Error())
		return
	}
	l.found = append(l.found, ownServer{name: name, source: source, config: config})
}

func (l *serverList) off(name, source string) bool {
	match := func(other string) bool {
		return other == name || toolServer(other) == toolServer(name)
	}
	return slices.ContainsFunc(l.disabled.DisabledMcpServers, match) ||
		source == sourceProject && slices.ContainsFunc(l.disabled.DisabledMcpjsonServers, match)
}

func (l *serverList) unreadable(source string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.leave("", source, "engine.server_file", err.Error())
	}
}

// findServers reads the owner's servers: local before project before user, as
// the CLI has it, and the caller's before all.
func (s *Session) findServers() *serverList {
	l := &serverList{taken: make(map[string]bool), ours: s.offer()}
	if callers, err := s.callersServers(); err == nil {
		for name := range callers {
			l.taken[toolPart(name)] = true
		}
	}
	if chosen := s.params.SettingSources; chosen != nil && len(*chosen) == 0 {
		return l
	}
	own, err := userPlaces(s.engine.o.Environ)
	var global globalFile
	if err == nil {
		err = readOwn(own.global, maxGlobalFile, &global)
	}
	if err != nil {
		l.unreadable(sourceUser, err)
	}
	entry, err := projectOf(global, s.cwd)
	if err != nil {
		l.unreadable(sourceLocal, err)
	}
	l.disabled = entry.disabledServers
	if s.wantsServers(sourceLocal) {
		l.add(sourceLocal, entry.McpServers)
	}
	if s.wantsServers(sourceProject) {
		s.addProjectServers(l, own.settings())
	}
	if s.wantsServers(sourceUser) {
		l.add(sourceUser, global.McpServers)
	}
	return l
}

// addProjectServers reads .mcp.json of the folder and of those above it, up to
// the trusted root; the nearest wins. No link is followed out of that root.
func (s *Session) addProjectServers(l *serverList, userSettings string) {
	root := s.trustedRoot()
	if root == "" {
		l.leave("", sourceProject, "engine.untrusted", "a repository's .mcp.json is read only in a trusted root; list the folder in [workspace] trusted")
		return
	}
	p, err := openProject(root)
	if err != nil {
		l.unreadable(sourceProject, err)
		return
	}
	defer p.root.Close()
	rel, err := filepath.Rel(root, s.cwd)
	if err != nil {
		l.unreadable(sourceProject, err)
		return
	}
	l.disabled.DisabledMcpjsonServers = append(l.disabled.DisabledMcpjsonServers, p.refusedServers(rel, userSettings)...)
	for dir := rel; ; dir = filepath.Dir(dir) {
		var file struct {
			McpServers map[string]json.RawMessage `json:"mcpServers"`
		}
		if err := p.decode(filepath.Join(dir, ".mcp.json"), &file); err != nil {
			l.unreadable(sourceProject, err)
		}
		l.add(sourceProject, file.McpServers)
		if dir == "." {
			return
		}
	}
}

// refusedServers are the servers of .mcp.json that settings files say no to. A
// broken file says nothing here; the CLI tells of it.
func (p *project) refusedServers(rel, userSettings string) []string {
	var refused disabledServers
	_ = readOwn(userSettings, maxSettingsFile, &refused)
	names := refused.DisabledMcpjsonServers
	for _, file := range settingsFiles {
		var refused disabledServers
		_ = p.decode(filepath.Join(rel, file), &refused)
		names = append(names, refused.DisabledMcpjsonServers...)
	}
	return names
}

// trustedRoot is the widest trusted root the folder lies in, "" when none.
func (s *Session) trustedRoot() (root string) {
	for _, r := range s.engine.o.Trusted {
		if insideAny(s.cwd, []string{r}) && (root == "" || len(r) < len(root)) {
			root = r
		}
	}
	return root
}
