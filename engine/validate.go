package engine

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPrompt bounds a prompt in bytes.
const maxPrompt = 4 << 20

func (p *StartParams) validate() error {
	if err := validatePrompt(p.Prompt); err != nil {
		return err
	}
	if p.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "max"}, p.Effort) {
		return Errorf(InvalidArgument, "effort %q: want low, medium, high or max", p.Effort)
	}
	if err := validateMode(p.PermissionMode); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "adaptive", "enabled", "disabled"}, p.Thinking) {
		return Errorf(InvalidArgument, "thinking %q: want adaptive, enabled or disabled", p.Thinking)
	}
	if p.MaxTurns < 0 || p.MaxBudgetUSD < 0 || p.ThinkingBudget < 0 {
		return Errorf(InvalidArgument, "maxTurns, maxBudgetUsd, thinking.budgetTokens: must not be negative")
	}
	if err := validateServers(p.McpServers); err != nil {
		return err
	}
	return p.validateArgv()
}

func validatePrompt(prompt string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return Errorf(InvalidArgument, "prompt is blank; say what Claude Code should do")
	case len(prompt) > maxPrompt:
		return Errorf(InvalidArgument, "prompt has %d bytes, at most %d are taken; put the text into a file and name it", len(prompt), maxPrompt)
	}
	return nil
}

// validateArgv refuses what could change its meaning on a command line: control
// characters anywhere, commas and odd brackets in rules of a comma-separated list.
func (p *StartParams) validateArgv() error {
	if err := p.validateLists(); err != nil {
		return err
	}
	values := map[string][]string{
		"model": {p.Model}, "fallbackModel": {p.FallbackModel}, "agent": {p.Agent}, "betas": p.Betas,
		"allowedTools": p.AllowedTools, "disallowedTools": p.DisallowedTools, "debugFile": {p.DebugFile},
		"cwd": {p.Cwd}, "additionalDirectories": p.AdditionalDirs, "pathToClaudeCodeExecutable": {p.Executable},
	}
	if p.Tools != nil {
		values["tools"] = *p.Tools
	}
	if p.SettingSources != nil {
		values["settingSources"] = *p.SettingSources
		for _, v := range *p.SettingSources {
			if !slices.Contains([]string{"user", "project", "local"}, v) {
				return Errorf(InvalidArgument, "settingSources: %q: want user, project or local", v)
			}
		}
	}
	for name, list := range values {
		for _, v := range list {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return Errorf(InvalidArgument, "%s: %q holds a control character", name, v)
			}
		}
	}
	for _, name := range []string{"allowedTools", "disallowedTools", "tools", "betas"} {
		for _, v := range values[name] {
			if err := validateRule(v); err != nil {
				return Errorf(InvalidArgument, "%s: %w", name, err)
			}
		}
	}
	return nil
}

// validateRule takes Tool or Tool(pattern).
func validateRule(rule string) error {
	name, pattern, scoped := strings.Cut(rule, "(")
	switch {
	case strings.TrimSpace(rule) == "":
		return fmt.Errorf("an entry is blank")
	case strings.ContainsAny(name, ", )"):
		return fmt.Errorf("%q: want a tool name or Tool(pattern), one an entry", rule)
	case scoped && (!strings.HasSuffix(pattern, ")") || strings.Count(pattern, ")") != strings.Count(pattern, "(")+1):
		return fmt.Errorf("%q: brackets do not match", rule)
	}
	return nil
}

// locate resolves the working folder and the further ones and looks where they lie.
func (s *Session) locate() error {
	cwd := s.params.Cwd
	if cwd == "" {
		cwd = s.engine.o.Roots[0]
	}
	var err error
	if s.cwd, err = folder("cwd", cwd); err != nil {
		return err
	}
	s.trusted = insideAny(s.cwd, s.engine.o.Trusted)
	for _, d := range s.params.AdditionalDirs {
		if !filepath.IsAbs(d) {
			d = filepath.Join(s.cwd, d)
		}
		real, err := folder("additionalDirectories", d)
		if err != nil {
			return err
		}
		s.dirs = append(s.dirs, real)
	}
	if s.params.Executable != "" && !filepath.IsAbs(s.params.Executable) {
		return Errorf(InvalidArgument, "pathToClaudeCodeExecutable %q: want an absolute path", s.params.Executable)
	}
	return nil
}

func folder(parameter, path string) (string, error) {
	if strings.TrimSpace(path) == "" {
		return "", Errorf(InvalidArgument, "%s is blank; leave it out for the default, or name a folder", parameter)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", Errorf(InvalidArgument, "%s %q: %w", parameter, path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", Errorf(InvalidArgument, "%s %q: no such folder: %w", parameter, path, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", Errorf(InvalidArgument, "%s %q: not a folder", parameter, path)
	}
	return real, nil
}

// insideAny compares by path segment; both sides are resolved.
func insideAny(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// newUUID returns a random (version 4) UUID, the form the CLI wants.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
