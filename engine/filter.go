package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// A CLI hands the output of a failing, interrupted or background command to the
// model without a hook that could change it. So it is made to start commands,
// and MCP servers on stdio, through a filter (see Options.Filter).

// What a filter is told; package filter holds the other side.
const (
	filterName  = "gatehouse-filter"
	filterSpec  = "GATEHOUSE_FILTER"
	filterSum   = "GATEHOUSE_FILTER_SUM"
	filterMode  = "GATEHOUSE_FILTER_MODE"
	shellPrefix = "CLAUDE_CODE_SHELL_PREFIX"

	maxFilterSpec = 96 << 10 // bytes; one variable of an environment holds 128 KiB
)

// filtering is what one process of the CLI is told of its filter; zero: none.
type filtering struct{ path, spec, sum string }

// filtering asks what the filter of a new process covers.
func (s *Session) filtering(ctx context.Context) (f filtering, err error) {
	e := s.engine
	if e.filter == nil {
		return f, nil
	}
	if f.path, err = e.filter.path(); err != nil {
		return f, Errorf(Internal, "the session was not started: %w", err)
	}
	s.tellOrigin()
	s.origins.Lock()
	origin := s.told
	s.origins.Unlock()
	if f.spec, err = e.o.FilterSpec(ctx, origin); err != nil {
		return f, Errorf(Internal, "the session was not started: what the filter of its commands covers is not known: %w", err)
	}
	if len(f.spec) > maxFilterSpec {
		return f, Errorf(Internal, "the session was not started: its redaction policies make a plan of %d bytes for the filter of its commands, at most %d are taken; name fewer detectors and edits", len(f.spec), maxFilterSpec)
	}
	sum := sha256.Sum256([]byte(f.spec))
	f.sum = hex.EncodeToString(sum[:])
	return f, nil
}

// environment are the variables of the process.
func (f filtering) environment() []string {
	if f.path == "" {
		return nil
	}
	return []string{shellPrefix + "=" + f.path, filterSpec + "=" + f.spec, filterSum + "=" + f.sum}
}

// settings are variables that no settings file replaces, since ours stand above
// them. The plan is not among them: command lines are for everybody to read.
func (f filtering) settings() map[string]string {
	if f.path == "" {
		return nil
	}
	return map[string]string{shellPrefix: f.path, filterSum: f.sum}
}

// filterStands looks, before a command of a session runs, whether the filter is
// still what the CLI starts it through: a command before it, or a cleaner, may
// have changed the link, which is then made anew.
func (p *process) filterStands(tool string) error {
	e, told := p.session.engine, p.launch.filter.path
	if told == "" || tool != "Bash" && tool != "Monitor" {
		return nil
	}
	path, err := e.filter.path()
	if err != nil {
		return fmt.Errorf("what it prints could not be covered: %w", err)
	}
	if path != told {
		return errors.New("what it prints could not be covered: the folder of the filter was removed; start the session anew")
	}
	return nil
}

// mark tells the filter of each server on stdio that it is one, and keeps the
// server's own configuration from telling it anything else.
func (f filtering) mark(servers json.RawMessage) (json.RawMessage, error) {
	if f.path == "" || len(servers) == 0 {
		return servers, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(servers, &all); err != nil {
		return nil, Errorf(InvalidArgument, "mcpServers: want an object of server configurations: %w", err)
	}
	for name, raw := range all {
		if marked, ok := markServer(name, raw); ok {
			all[name] = marked
		}
	}
	return json.Marshal(all)
}

// markServer leaves what is no server on stdio to the CLI.
func markServer(name string, raw json.RawMessage) (json.RawMessage, bool) {
	var config, env map[string]json.RawMessage
	if json.Unmarshal(raw, &config) != nil || config == nil {
		return nil, false
	}
	kind := "stdio"
	if given, ok := config["type"]; ok && json.Unmarshal(given, &kind) != nil || kind != "stdio" {
		return nil, false
	}
	if given, ok := config["env"]; ok && json.Unmarshal(given, &env) != nil {
		return nil, false
	}
	if env == nil {
		env = make(map[string]json.RawMessage, 1)
	}
	for variable := range env {
		if variable == filterSpec || variable == filterSum || variable == shellPrefix {
			delete(env, variable)
		}
	}
	env[filterMode], _ = json.Marshal("mcp:" + toolPart(name))
	config["env"], _ = json.Marshal(env)
	marked, err := json.Marshal(config)
	return marked, err == nil
}
