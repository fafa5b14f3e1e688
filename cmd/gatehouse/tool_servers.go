package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// toolServers are the servers of [[mcp_server]]. The nil toolServers are those of a
// configuration without any.
type toolServers struct {
	list []namedServer
}

// namedServer is one server, in the order of the configuration.
type namedServer struct {
	name   string
	config upstream.Config
	*upstream.Server
}

// openServers makes the servers of s; none is started. st may be nil. An error names
// the place of the [[mcp_server]] that is wrong.
func openServers(s *settings, st *state, env environment, logger *slog.Logger) (*toolServers, error) {
	if len(s.servers.list) == 0 {
		return nil, nil
	}
	o := upstream.Options{Environ: env, Logger: logger, Version: readVersion().Version}
	if st != nil {
		o.Processes = st.processes
	}
	all := &toolServers{}
	for _, c := range s.servers.list {
		opened, err := upstream.Open(c, o)
		if err != nil {
			all.close(logger)
			return nil, fmt.Errorf("%s: %s: %w", s.servers.at[c.Name], mcpServerKey, err)
		}
		all.list = append(all.list, namedServer{c.Name, c, opened})
	}
	return all, nil
}

// forEngine are the servers by name; nil: none.
func (t *toolServers) forEngine() map[string]engine.ToolServer {
	if t == nil {
		return nil
	}
	servers := make(map[string]engine.ToolServer, len(t.list))
	for _, s := range t.list {
		servers[s.name] = s
	}
	return servers
}

// serversTime bounds the end of upstream servers, whose calls have ended with the
// engine.
const serversTime = 2 * time.Second

// close ends the servers, after the engine has closed and before the plugins.
func (t *toolServers) close(logger *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), serversTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range t.list {
		wg.Go(func() { // ends with ctx at the latest
			if err := s.Close(ctx); err != nil {
				logger.Warn("mcp_server", "server", s.name, "error", err)
			}
		})
	}
	wg.Wait()
}

// offers says why a plugin's tools cannot be offered: they are called
// mcp__PLUGIN__TOOL, and would be hidden by those of a server of the same name.
func (s *settings) offers(plugin string) error {
	if at := s.servers.taken(plugin); at != "" {
		return fmt.Errorf("it has tools, and the name of the %s at %s; give one of them another name", mcpServerKey, at)
	}
	if !isServerName(plugin) {
		return fmt.Errorf("its tools would be called mcp__%s__TOOL; the name of a plugin with tools must not end with _ or hold two in a row", plugin)
	}
	return nil
}
