package script

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// setServers replaces the servers by those of the request: what is under way at one
// that goes is over, and hands are shaken at once with one that comes.
func (p *process) setServers(id string, c control) {
	wanted := c.Servers
	added, removed := []string{}, []string{}
	var come []*mcpServer
	p.mu.Lock()
	p.servers = slices.DeleteFunc(p.servers, func(s *mcpServer) bool {
		_, stays := wanted[s.name]
		if !stays {
			removed = append(removed, s.name)
		}
		return !stays
	})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		known := slices.ContainsFunc(p.servers, func(s *mcpServer) bool { return s.name == name })
		var kind struct{ Type string }
		if known || json.Unmarshal(wanted[name], &kind) != nil || kind.Type != "sdk" {
			continue // a server of another kind is not played here
		}
		added = append(added, name)
		come = append(come, &mcpServer{name: name, status: "pending", changed: make(chan struct{})})
	}
	p.servers = append(p.servers, come...)
	var lost []string
	for _, q := range p.pending {
		if name, _ := q.request["server_name"].(string); q.done != nil && slices.Contains(removed, name) {
			lost = append(lost, q.id)
		}
	}
	p.mu.Unlock()
	// Before the losses: a turn they end would else be over before this answer.
	p.respond(id, map[string]any{"added": added, "removed": removed, "errors": map[string]any{}})
	for _, id := range lost {
		if q := p.take(id); q != nil {
			q.deliver(answer{err: &rpcError{Code: -32000, Message: "Connection closed"}})
		}
	}
	for _, s := range come {
		go p.handshake(context.Background(), s) // ends with the answers, their timeout or the process
	}
}
