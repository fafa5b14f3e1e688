package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// profiles are the built-in policy sets.
var profiles = []string{"dev", "readonly", "ci", "locked", "none"}

// strictProfiles also switch the CLI's attachments off and let nobody be asked.
var strictProfiles = []string{"ci", "locked"}

// configure turns flags, environment and files into checked settings.
func (c *command) configure(o *options) (*settings, error) {
	s, err := c.read(o)
	if err != nil {
		return nil, err
	}
	current, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	s.executable, err = resolveExecutable(s.executable, current, c.env)
	if err != nil {
		return nil, fmt.Errorf("cli.executable: %w", err)
	}
	return s, nil
}

// read is configure without a look for the CLI.
func (c *command) read(o *options) (*settings, error) {
	current, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	start := o.startFolder(current)
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--cwd %s is no folder", start)
	}
	l, err := loadConfig(organisationFile, o.config, c.env)
	if err != nil {
		return nil, err
	}
	if err := o.override(l); err != nil {
		return nil, err
	}
	if err := l.overlay(c.env); err != nil {
		return nil, err
	}
	if start, err = o.mpmStart(l, start, c.env); err != nil {
		return nil, err
	}
	return l.check(start, c.env)
}

// resolveExecutable looks the CLI up once, so that a later change of PATH or
// of a link changes nothing. One that is missing keeps its name: starting a
// session then says so, and a server can come up before the CLI is installed.
func resolveExecutable(name, current string, env environment) (string, error) {
	path := env.expand(name)
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(current, path)
	}
	if found, err := exec.LookPath(path); err == nil {
		path = found
	} else if errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("%s was found in the current folder only; name it by its whole path", name)
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".bat" || ext == ".cmd" {
		return "", fmt.Errorf("%s is a batch file, whose arguments cannot be quoted safely; name the .exe", path)
	}
	if !filepath.IsAbs(path) {
		return path, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return path, nil
}

// build opens the policies and makes the engine, which keeps what it keeps in st.
// Whoever calls it closes the engine, then the servers and the plugins of the
// rollout, and then st.
func build(ctx context.Context, s *settings, st *state, env environment, logger *slog.Logger, unattended bool) (*engine.Engine, *rollout, error) {
	scanner := scanRedactor{s.redaction.scanner}
	coverLog(logger, scanner)
	r, err := openRollout(ctx, s, besideLog(logger, scanner)) // policies cover what logger writes
	if err != nil {
		return nil, nil, err
	}
	if err := st.ready(); err != nil {
		return nil, nil, err
	}
	r.loaded, r.refused = st.inForce, st.refused(scanner)
	told := make(chan struct{})
	go func() { // ends with its record
		defer close(told)
		r.tellLoaded(ctx)
	}()
	strict := slices.Contains(strictProfiles, s.profile)
	redactor := policy.NewRedactor(r.live, policy.RedactorOptions{Options: s.redaction.options})
	r.plugins, err = openPlugins(ctx, s, redactor, r.policyData, st, logger)
	if err == nil {
		r.servers, err = openServers(s, st, env, logger)
	}
	if err != nil {
		r.plugins.close(logger)
		<-told
		return nil, nil, err
	}
	s.coverDecisions(r.plugins.cover(redactor))
	coverLog(logger, redactor)
	eng, err := engine.New(r.plugins.with(st.with(engine.Options{
		Executable: s.executable, MinVersion: s.minVersion, Args: s.cliArgs,
		Roots: s.roots, Trusted: s.trusted,
		Deciders: []permission.Decider{r.live}, Admission: []admission.Decider{r.live},
		Redactors: []event.Redactor{redactor}, OnExposedSecret: engine.Exposure(s.redaction.onExposed),
		DenyReads: append(facts.DenyReadRules(), facts.DenyReadsBelow(s.secret())...), Mentions: facts.Mentions,
		OnUnsafeSettings: engine.Isolation(s.onUnsafeSettings), DisableAttachments: strict,
		Unattended: unattended || strict, MaxConcurrent: s.maxConcurrent,
		TurnTimeout: s.turnTimeout, IdleTTL: s.idleTTL, SweepEvery: s.variables.sweepEvery,
		BypassTTL: s.tools.bypassTTL, MaxPending: s.maxPending,
		MaxQuestions: s.maxQuestions, Approvers: s.approvers,
		MaxDenials: s.engineDenials(), ApprovalTimeout: s.approvalTimeout,
		WarmTTL: s.warmTTL, ResumeTTL: s.resumeTTL, StateDir: s.stateFolder,
		Filter: s.filterProgram(), FilterSpec: s.filterSpec(redactor, env),
		DiskResume: env.get(allowDiskResume) == "1", ResumeSecret: engine.Secret(env.get(resumeSecret)),
		ToolServers: r.servers.forEngine(), Inproc: []permission.InprocDecider{r.live},
		Environ: env, Withheld: s.servers.withheld, Logger: logger,
	})))
	<-told // no call is judged before
	if err == nil {
		r.plugins.announceTo(eng)
	} else {
		r.servers.close(logger)
		r.plugins.close(logger)
	}
	if err == nil && !s.redaction.filter {
		eng.Announce(engine.Announcement{Type: noticeRedaction, Message: filterWarning, Standing: true})
	}
	return eng, r, err
}

// protected lists what no session may write: what configures the gate, the
// gate itself, what it remembers and the program behind it.
func (s *settings) protected() []string {
	paths := slices.Concat(s.files, s.policyPaths, s.policyData, s.bundleFiles, s.plugins.files, s.servers.files, s.servers.secrets, []string{filepath.Dir(organisationFile)})
	for _, path := range []string{s.executable, s.stateFolder, s.decisionLog.folder, s.store.dir, s.audit.dir, s.audit.key, s.plugins.cache} {
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	if own, err := os.Executable(); err == nil {
		paths = append(paths, own)
	}
	return paths
}

// secret lists what no session may read either: the keys, the secrets of servers,
// and the records of all sessions.
func (s *settings) secret() (paths []string) {
	paths = slices.Clone(s.servers.secrets)
	for _, root := range []string{s.stateFolder, s.audit.dir} { // also where the log is off by now
		if filepath.IsAbs(root) {
			paths = append(paths, filepath.Dir(auditKeyIn(root)), audit.Servers(root), filepath.Join(root, journalName))
		}
	}
	for _, path := range []string{s.store.dir, s.audit.key} {
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// engineDenials translates 0 = no limit into the engine's word for it.
func (s *settings) engineDenials() int {
	if s.maxDenials == 0 {
		return -1
	}
	return s.maxDenials
}
