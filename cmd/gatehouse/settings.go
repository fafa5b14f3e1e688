package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// settings is the configuration after it was checked as a whole. Nothing in it
// is changed afterwards.
type settings struct {
	profile          string
	executable       string // as configured; resolveExecutable makes it absolute
	minVersion       string
	cliArgs          []string
	roots            []string // absolute, links resolved, at least one
	trusted          []string
	onUnsafeSettings string
	policyPaths      []string // absolute
	policyData       []string
	orgPaths         []string // of policyPaths, those of the organisation
	orgData          []string // of policyData, the same
	defaultEffect    string
	grants           []string
	maxConcurrent    int
	turnTimeout      time.Duration
	idleTTL          time.Duration
	warmTTL          time.Duration
	resumeTTL        time.Duration
	maxPending       int
	maxQuestions     int // a session, in a minute
	maxDenials       int // 0 = no limit
	approvalTimeout  time.Duration
	bundle           *bundle.Options // nil: none
	bundleFiles      []string        // of it and its key, absolute
	config           fileConfig      // as written, flags put over it
	configDigest     string          // see loaded.digest
	files            []string        // configuration files read
	looked           []string        // configuration files looked for
	start            string          // the folder the command works in
	home             string
	stateFolder      string   // what outlives the program; empty without a home
	approvers        []string // who can answer, set before the engine is built; nil = anybody
	server           string   // id of this run, set like approvers; empty: serverID
	decisionLog      decisionLogSettings
	store            storeSettings
	audit            auditSettings
	redaction        redactionSettings
	plugins          pluginSettings
	servers          mcpServerSettings
	tools            toolsSettings
	mpm              mpmserver.Options
	variables        variables        // of the environment
	deadline         time.Duration    // of one decision; 0 = the default
	decisions        *decisionlog.Log // nil: none is kept, as with every command but serve and run
}

// Bounds of the configuration. They keep a slip of the finger from turning a
// limit off.
const (
	maxConcurrentBound = 1000
	maxPendingBound    = 10_000
	maxQuestionsBound  = 10_000
	maxDenialsBound    = 1_000_000
	maxDuration        = 30 * 24 * time.Hour
	minDuration        = time.Second
)

var versionForm = regexp.MustCompile(`^\d{1,6}\.\d{1,6}\.\d{1,6}$`)

// checker gathers the first thing wrong, with the place of its key.
type checker struct {
	l   *loaded
	env environment
	err error
}

func (c *checker) fail(key, format string, args ...any) {
	c.failAt(c.l.at[key], key, format, args...)
}

// failAt is fail for a key that stands at several places.
func (c *checker) failAt(where, key, format string, args ...any) {
	if c.err != nil {
		return
	}
	if where == "" {
		where = "configuration"
	}
	c.err = fmt.Errorf("%s: %s: %s", where, key, fmt.Sprintf(format, args...))
}

// check validates l as a whole. start is the folder the command works in.
func (l *loaded) check(start string, env environment) (*settings, error) {
	c := &checker{l: l, env: env}
	s := &settings{
		profile:          c.oneOf("profile", l.Profile, profiles),
		executable:       c.notEmpty("cli.executable", l.CLI.Executable),
		minVersion:       c.version("cli.min_version", l.CLI.MinVersion),
		cliArgs:          c.arguments("cli.args", l.CLI.Args),
		onUnsafeSettings: c.oneOf("workspace.on_unsafe_settings", l.Workspace.OnUnsafeSettings, []string{"isolate", "refuse"}),
		policyPaths:      c.readable("policy.paths", l.Policy.Paths),
		policyData:       c.readable("policy.data", l.Policy.Data),
		orgPaths:         c.readable("policy.paths", l.orgPaths),
		orgData:          c.readable("policy.data", l.orgData),
		defaultEffect:    c.oneOf("policy.default_effect", l.Policy.DefaultEffect, []string{"ask", "deny"}),
		grants:           c.grants(l.Grants.Parameters),
		maxConcurrent:    c.between("limits.max_concurrent", l.Limits.MaxConcurrent, 1, maxConcurrentBound),
		turnTimeout:      c.duration("limits.turn_timeout", l.Limits.TurnTimeout),
		idleTTL:          c.duration("limits.idle_ttl", l.Limits.IdleTTL),
		warmTTL:          c.duration("limits.warm_ttl", l.Limits.WarmTTL),
		resumeTTL:        c.duration("limits.resume_ttl", l.Limits.ResumeTTL),
		maxPending:       c.between("limits.max_pending", l.Limits.MaxPending, 1, maxPendingBound),
		maxQuestions:     c.between("limits.max_questions", l.Limits.MaxQuestions, 1, maxQuestionsBound),
		maxDenials:       c.between("limits.max_denials", l.Limits.MaxDenials, 0, maxDenialsBound),
		approvalTimeout:  c.duration("approvals.timeout", l.Approvals.Timeout),
		config:           l.fileConfig, looked: l.looked,
		variables: l.variables, configDigest: l.digest(), files: l.files, start: start, home: env.home(), stateFolder: env.stateFolder(),
	}
	s.bundle, s.bundleFiles = c.bundle()
	s.decisionLog = c.decisionLog(s.stateFolder)
	s.store = c.store(s.stateFolder)
	s.audit = c.audit()
	s.servers = c.mcpServers()
	s.redaction = c.redaction(s.servers.values)
	s.roots = c.roots(start)
	s.servers.warnInside(s.roots)
	s.plugins = c.plugins(s.roots)
	s.tools = c.tools()
	s.mpm = c.mpm(s.tools)
	s.trusted = c.folders("workspace.trusted", l.Workspace.Trusted)
	for _, t := range s.trusted {
		if !slices.ContainsFunc(s.roots, func(root string) bool { return inside(t, root) }) {
			c.fail("workspace.trusted", "%s lies in none of workspace.roots; add its root there", t)
		}
	}
	return s, c.err
}

func (c *checker) oneOf(key, value string, known []string) string {
	if !slices.Contains(known, value) {
		c.fail(key, "%q is unknown, want one of %s", value, strings.Join(known, ", "))
	}
	return value
}

func (c *checker) notEmpty(key, value string) string {
	if strings.TrimSpace(value) == "" {
		c.fail(key, "must not be empty")
	}
	return value
}

func (c *checker) version(key, value string) string {
	if !versionForm.MatchString(value) {
		c.fail(key, `%q is no version; write it like "2.1.197"`, value)
	}
	return value
}

func (c *checker) arguments(key string, values []string) []string {
	for _, v := range values {
		if strings.ContainsAny(v, "\x00\n") {
			c.fail(key, "%q holds a NUL or a newline", v)
		}
	}
	return values
}

func (c *checker) between(key string, value, low, high int) int {
	if value < low || value > high {
		c.fail(key, "%d is out of bounds, want %d to %d", value, low, high)
	}
	return value
}

func (c *checker) duration(key, value string) time.Duration {
	d, err := time.ParseDuration(value)
	if err != nil {
		c.fail(key, `%q is no duration; write it like "90s" or "4h"`, value)
		return 0
	}
	if d < minDuration || d > maxDuration {
		c.fail(key, "%s is out of bounds, want %s to %s", value, minDuration, maxDuration)
	}
	return d
}

var grantForm = regexp.MustCompile(`^(\*|[A-Za-z]+|env\.[A-Za-z_][A-Za-z0-9_]*)$`)

func (c *checker) grants(values []string) []string {
	for _, v := range values {
		if !grantForm.MatchString(v) {
			c.fail("grants.parameters", `%q names no parameter; write for example "mcpServers", "env.CI" or "*"`, v)
		}
	}
	return values
}

// readable checks files or folders that policies come from: there, and nobody
// else's to change, all the way down.
func (c *checker) readable(key string, paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		path := filepath.Clean(c.env.expand(p))
		err := checkOwner(path)
		if err == nil {
			err = filepath.WalkDir(path, func(p string, _ os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return checkOwner(p)
			})
		}
		if err != nil {
			c.fail(key, "%v", err)
		}
		out = append(out, path)
	}
	return out
}

// roots returns workspace.roots, by default the folder the command was started
// in, unless that would open the whole home folder or machine.
func (c *checker) roots(start string) []string {
	if len(c.l.Workspace.Roots) > 0 {
		return c.folders("workspace.roots", c.l.Workspace.Roots)
	}
	real, err := filepath.EvalSymlinks(start)
	if err != nil {
		c.fail("workspace.roots", "%v", err)
		return nil
	}
	home, err := filepath.EvalSymlinks(c.env.home())
	if filepath.Dir(real) == real || err == nil && home == real {
		c.fail("workspace.roots", "not set, and %s is too wide to be the default; start in a project folder, or list folders there%s", real, c.folderRemedy())
	}
	return []string{real}
}

func (c *checker) folders(key string, paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		path := c.env.expand(p)
		if !filepath.IsAbs(path) {
			c.fail(key, "%q must be absolute or begin with ~", p)
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			c.fail(key, "%v", err)
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			c.fail(key, "%s is no folder", path)
		}
		out = append(out, real)
	}
	return out
}

// inside reports whether path is root or lies below it, by whole segments.
func inside(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	if runtime.GOOS == "windows" {
		rel = filepath.ToSlash(rel)
	}
	return rel != ".." && !strings.HasPrefix(rel, "../")
}
