package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Bounds of what is read from a project before a session.
const (
	maxSettingsFile = 256 << 10
	maxMemoryFile   = 128 << 10
)

// snapshot is what of an untrusted project's settings is passed on: keys that
// can only tighten or change how text looks. Nothing is loaded live.
type snapshot struct {
	settings map[string]json.RawMessage
	deny     []string // permissions.deny rules
	memory   string   // CLAUDE.md, redacted
	leftOut  []leftOut
}

type leftOut struct {
	File string `json:"file"`
	Key  string `json:"key"`
	Why  string `json:"why"`
}

// harmlessSettings start no program, grant nothing and redirect nothing.
var harmlessSettings = []string{"language", "includeCoAuthoredBy", "alwaysThinkingEnabled", "spinnerTipsEnabled", "respectGitignore"}

var (
	settingsFiles = []string{".claude/settings.json", ".claude/settings.local.json"}
	memoryFiles   = []string{"CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"}
)

// project is a folder read without following a link out of it.
type project struct{ root *os.Root }

func openProject(dir string) (*project, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &project{root}, nil
}

func (p *project) read(name string, limit int64) ([]byte, error) {
	return regular.ReadIn(p.root, filepath.FromSlash(name), limit)
}

// facts looks at the files that could start programs; they are policy input.
func (p *project) facts() admission.Project {
	var f admission.Project
	for _, name := range settingsFiles {
		if _, err := p.root.Lstat(filepath.FromSlash(name)); err == nil {
			f.SettingsFiles = append(f.SettingsFiles, name)
		}
	}
	if raw, err := p.read(".mcp.json", maxSettingsFile); err == nil {
		var c struct {
			McpServers map[string]json.RawMessage `json:"mcpServers"`
		}
		if json.Unmarshal(raw, &c) == nil {
			for name := range c.McpServers {
				f.McpServers = append(f.McpServers, name)
			}
			slices.Sort(f.McpServers)
		}
	}
	if raw, err := p.read(".git/config", maxSettingsFile); err == nil {
		f.GitExecKeys = gitExecKeys(raw)
	}
	return f
}

// gitExecKeys names the keys of a git configuration that start programs.
func gitExecKeys(config []byte) []string {
	var keys []string
	section := ""
	for line := range bytes.Lines(config) {
		text := strings.ToLower(strings.TrimSpace(string(line)))
		if header, rest, ok := strings.Cut(text, "]"); ok && strings.HasPrefix(header, "[") {
			section, _, _ = strings.Cut(strings.TrimSpace(header[1:]), " ")
			text = strings.TrimSpace(rest) // a key may follow on the same line
		}
		key, _, _ := strings.Cut(text, "=")
		if full := section + "." + strings.TrimSpace(key); startsProgram(full) && !slices.Contains(keys, full) {
			keys = append(keys, full)
		}
	}
	return keys
}

func startsProgram(key string) bool {
	section, name, _ := strings.Cut(key, ".")
	switch section {
	case "alias":
		return name != ""
	case "filter":
		return name == "clean" || name == "smudge" || name == "process"
	case "diff":
		return name == "external" || name == "command" || name == "textconv"
	case "merge", "mergetool", "difftool":
		return name == "driver" || name == "cmd"
	case "include", "includeif":
		return name == "path"
	case "credential":
		return name == "helper"
	case "gpg":
		return name == "program"
	case "core":
		return slices.Contains([]string{"fsmonitor", "hookspath", "sshcommand", "pager", "editor", "askpass", "gitproxy"}, name)
	}
	return false
}

// snapshot vets the settings files and reads the memory files; redact covers
// secrets in the latter.
func (p *project) snapshot(redact func(string) string) snapshot {
	s := snapshot{settings: map[string]json.RawMessage{}}
	for _, name := range settingsFiles {
		p.vet(name, &s)
	}
	for _, name := range memoryFiles {
		raw, err := p.read(name, maxMemoryFile)
		switch {
		case err == nil && len(bytes.TrimSpace(raw)) > 0:
			s.memory = joinParagraphs(s.memory, "# Project instructions ("+name+")\n\n"+redact(strings.ToValidUTF8(string(raw), "\uFFFD")))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			s.leftOut = append(s.leftOut, leftOut{name, "", err.Error()})
		}
	}
	if _, err := p.root.Lstat(".mcp.json"); err == nil {
		s.leftOut = append(s.leftOut, leftOut{".mcp.json", "mcpServers", "a repository's servers start only in a trusted root"})
	}
	return s
}

func (p *project) vet(name string, s *snapshot) {
	raw, err := p.read(name, maxSettingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var keys map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(raw, &keys)
	}
	if err != nil {
		s.leftOut = append(s.leftOut, leftOut{name, "", "cannot be read: " + err.Error()})
		return
	}
	for key, value := range keys {
		switch {
		case slices.Contains(harmlessSettings, key) && scalar(value):
			s.settings[key] = value
		case key == "permissions":
			s.deny = append(s.deny, denyRules(value)...)
			s.leftOut = append(s.leftOut, leftOut{name, "permissions.allow, ask, defaultMode", "only deny rules of an untrusted project are kept"})
		default:
			s.leftOut = append(s.leftOut, leftOut{name, key, "could start a program, redirect the API or loosen a rule"})
		}
	}
	slices.SortFunc(s.leftOut, func(a, b leftOut) int { return strings.Compare(a.File+a.Key, b.File+b.Key) })
}

func scalar(raw json.RawMessage) bool {
	b := bytes.TrimSpace(raw)
	return len(b) > 0 && b[0] != '{' && b[0] != '[' && len(b) < 200
}

func denyRules(raw json.RawMessage) []string {
	var p struct {
		Deny []string `json:"deny"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil
	}
	return p.Deny
}
