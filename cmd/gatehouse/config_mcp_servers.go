package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// mcpServerConfig is one [[mcp_server]].
type mcpServerConfig struct {
	Name         string         `toml:"name"`
	Command      []string       `toml:"command"`
	URL          string         `toml:"url"`
	Dir          string         `toml:"dir"`
	EnvFrom      []string       `toml:"env_from"`
	Env          map[string]any `toml:"env"`     // any names
	Headers      map[string]any `toml:"headers"` // any names
	Tools        []string       `toml:"tools"`
	Timeout      string         `toml:"timeout"`
	StartTimeout string         `toml:"start_timeout"`
	IdleTimeout  string         `toml:"idle_timeout"`
	PerSession   bool           `toml:"per_session"`
}

const mcpServerKey = "mcp_server"

// Bounds of [[mcp_server]].
const (
	maxMCPServers      = 32
	maxServerWords     = 256 // of a command
	maxServerVariables = 256 // of env_from, of env and of headers
	maxServerTools     = 512 // patterns of tools
	minServerTimeout   = 100 * time.Millisecond
	maxServerTimeout   = 24 * time.Hour
	maxStartTimeout    = 10 * time.Minute
)

// mcpServerSettings are the servers after they were checked.
type mcpServerSettings struct {
	list     []upstream.Config
	at       map[string]string // file:line of each, by name
	files    []string          // programs and scripts, as named: no session may write them
	secrets  []string          // files of ${file:…}: no session may read or write them
	withheld []string          // names of variables that no session gets
	values   map[string]string // covered wherever they come up, by the names they are told as
	warnings []string
}

// placeServers notes where the servers of the file just read stand, and makes
// their paths absolute.
func (l *loaded) placeServers(folder string, at places) {
	l.serversAt = append(l.serversAt, at.elements(mcpServerKey, len(l.MCPServer))...)
	for i := range l.MCPServer {
		s := &l.MCPServer[i]
		if s.Dir != "" {
			s.Dir = below(folder, []string{s.Dir})[0]
		}
		if len(s.Command) > 0 && strings.ContainsRune(s.Command[0], filepath.Separator) {
			s.Command[0] = below(folder, s.Command[:1])[0]
		}
	}
}

// serverChecker checks one [[mcp_server]].
type serverChecker struct {
	*checker
	at  string
	s   mcpServerConfig
	out *mcpServerSettings

	looked int // pieces of arguments
}

func (k *serverChecker) wrong(format string, args ...any) {
	k.failAt(k.at, mcpServerKey, format, args...)
}

// mcpServers checks [[mcp_server]].
func (c *checker) mcpServers() mcpServerSettings {
	out := mcpServerSettings{at: map[string]string{}, values: map[string]string{}}
	if n := len(c.l.MCPServer); n > maxMCPServers {
		c.failAt(c.l.serversAt[maxMCPServers], mcpServerKey, "%d servers are too many, want at most %d", n, maxMCPServers)
		return out
	}
	for i, s := range c.l.MCPServer {
		k := &serverChecker{checker: c, at: c.l.serversAt[i], s: s, out: &out}
		k.name()
		if other := out.taken(s.Name); other != "" {
			k.wrong("%q is the name of the server at %s, too, in whatever case; give it another one", s.Name, other)
		}
		out.at[s.Name] = k.at
		config := k.config()
		out.list = append(out.list, config)
	}
	return out
}

// taken says where a server of that name stands; empty: nowhere. Names that differ in
// case alone are one to who reads them, so that none stands in for another.
func (s *mcpServerSettings) taken(name string) string {
	for other, at := range s.at {
		if strings.EqualFold(other, name) {
			return at
		}
	}
	return ""
}

// warnInside tells of servers that run what sessions can change.
func (s *mcpServerSettings) warnInside(roots []string) {
	for _, c := range s.list {
		for _, path := range append([]string{c.Dir}, c.Command...) {
			in := slices.IndexFunc(roots, func(root string) bool { return filepath.IsAbs(path) && inside(linksResolved(path), root) })
			if in >= 0 && exists(path) {
				s.warnings = union(s.warnings, []string{fmt.Sprintf(
					"mcp_server %q: %s lies in %s, where sessions work: what they write there beside the files that the command names can run with the server's secrets; keep it elsewhere", c.Name, path, roots[in])})
				break
			}
		}
	}
	for _, path := range s.secrets {
		if in := slices.IndexFunc(roots, func(root string) bool { return inside(path, root) }); in >= 0 {
			s.warnings = union(s.warnings, []string{fmt.Sprintf(
				"mcp_server: the file of ${file:%s} lies in %s, where sessions work: a command that runs there can come upon it; keep it elsewhere", path, roots[in])})
		}
	}
}

// serverName is what the engine takes for a name.
var serverName = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)

const maxServerName = 64

func isServerName(name string) bool {
	return len(name) <= maxServerName && serverName.MatchString(name)
}

func (k *serverChecker) name() {
	switch name := k.s.Name; {
	case name == "":
		k.wrong(`name is missing; want name = "…" and command = ["…"] or url = "https://…"`)
	case !isServerName(name):
		k.wrong("name %q: want 1 to %d of A-Z, a-z, 0-9, _ and -, with no _ at either end and no two in a row: its tools are called mcp__NAME__TOOL", name, maxServerName)
	}
}

func (k *serverChecker) config() upstream.Config {
	s := k.s
	config := upstream.Config{Name: s.Name, Tools: k.tools(), PerSession: s.PerSession, Secrets: []upstream.Source{}}
	switch {
	case s.Command == nil && s.URL == "":
		k.wrong(`%q: command and url are missing; want command = ["program", "argument"] or url = "https://…"`, s.Name)
	case s.Command != nil && s.URL != "":
		k.wrong("%q: command and url are both set; keep one: command starts a program, url reaches one that runs", s.Name)
	case s.Command != nil:
		config.Command, config.Dir = k.command(), k.dir()
		config.Env = k.variables(&config.Secrets)
		if s.Headers != nil {
			k.wrong("%q: headers are for a url; give a command its secrets by env or env_from", s.Name)
		}
	default:
		config.URL = k.url()
		config.Headers = k.headers(&config.Secrets)
		for _, row := range []struct {
			key string
			set bool
		}{{"dir", s.Dir != ""}, {"env", s.Env != nil}, {"env_from", s.EnvFrom != nil}} {
			if row.set {
				k.wrong("%q: %s is for a command; give a url its secrets by headers", s.Name, row.key)
			}
		}
	}
	config.Timeout = k.time("timeout", s.Timeout, minServerTimeout, maxServerTimeout, upstream.DefaultTimeout)
	config.StartTimeout = k.time("start_timeout", s.StartTimeout, minServerTimeout, maxStartTimeout, upstream.DefaultStartTimeout)
	config.IdleTimeout = k.time("idle_timeout", s.IdleTimeout, minServerTimeout, maxDuration, upstream.DefaultIdleTimeout)
	return config
}

func (k *serverChecker) time(key, value string, least, most, otherwise time.Duration) time.Duration {
	return duration(k.wrong, k.s.Name, key, value, least, most, otherwise)
}

var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_.*-]{1,128}$`)

func (k *serverChecker) tools() []string {
	if k.s.Tools != nil && len(k.s.Tools) == 0 {
		k.wrong("%q: tools = [] offers none; name some, or leave the key out for all", k.s.Name)
	}
	if n := len(k.s.Tools); n > maxServerTools {
		k.wrong("%q: tools has %d entries, want at most %d", k.s.Name, n, maxServerTools)
	}
	for _, t := range k.s.Tools {
		if strings.HasPrefix(t, "mcp__") {
			k.wrong("%q: tools %q: write the name as the server does, without mcp__ and the server's name", k.s.Name, t)
		}
		if !toolPattern.MatchString(t) {
			k.wrong(`%q: tools %q is no name of a tool; write it as the server does, without mcp__, with * for any run of characters: "create_*"`, k.s.Name, t)
		}
	}
	return k.s.Tools
}

// ownHeaders are the protocol's and the connection's.
var ownHeaders = []string{
	"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Mcp-Protocol-Version", "Mcp-Session-Id",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// headers are the sources of what is sent, by canonical name.
func (k *serverChecker) headers(secrets *[]upstream.Source) map[string]upstream.Source {
	sources := map[string]upstream.Source{}
	for name, text := range k.texts("headers", k.s.Headers) {
		canonical := http.CanonicalHeaderKey(name)
		_, twice := sources[canonical]
		switch {
		case !headerForm.MatchString(name):
			k.wrong("%q: headers: %q is no name of a header", k.s.Name, name)
		case slices.Contains(ownHeaders, canonical):
			k.wrong("%q: headers: %s is set by Gatehouse itself; remove it", k.s.Name, canonical)
		case twice:
			k.wrong("%q: headers: %s stands twice, in different letters", k.s.Name, canonical)
		}
		sources[canonical] = k.source("headers: "+name, text, neverInHeaders, secrets)
	}
	return sources
}

// beside are the servers in force, those of the start, with what a configuration read
// since then names besides: its files are kept from sessions at once.
func (s mcpServerSettings) beside(start mcpServerSettings) mcpServerSettings {
	start.files, start.secrets = union(start.files, s.files), union(start.secrets, s.secrets)
	return start
}

// serverWarnings are what check and the log of the server tell.
func (s *settings) serverWarnings() []string { return s.servers.warnings }

// readableWarning is about a file of a secret that others can read.
func readableWarning(server, path string) string {
	return fmt.Sprintf("mcp_server %q: %s can be read by others than its owner; run chmod 600 on it", server, path)
}
