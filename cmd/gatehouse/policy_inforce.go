package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// toolSettings reads the configuration for a command that starts no session: the
// folder it is called in need not be one that sessions may work in.
func (c *command) toolSettings(o *options) (*settings, error) {
	current, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	start := o.startFolder(current)
	l, err := loadConfig(organisationFile, o.config, c.env)
	if err != nil {
		return nil, err
	}
	if err := o.override(l); err != nil {
		return nil, err
	}
	if len(l.Workspace.Roots) == 0 {
		l.Workspace.Roots = []string{start}
	}
	s, err := l.check(start, c.env)
	if err == nil {
		s.deadline = toolDeadline
	}
	return s, err
}

// toolDeadline is what a decision may take where nobody waits for it: a machine
// under load must not change what a tool reports.
const toolDeadline = 10 * time.Second

// inForce loads the policies that a server with these settings would have.
func inForce(ctx context.Context, s *settings) (*policy.Set, error) {
	return loadPolicies(ctx, s, slog.New(slog.DiscardHandler))
}

// decisionLogs are the files a command reads: those named, folders with all that
// is in them, or else the configured ones.
func decisionLogs(named []string, s *settings) ([]string, error) {
	if len(named) == 0 {
		if s.decisionLog.folder == "" {
			return nil, fmt.Errorf("no decision log is kept ([decision_log] folder); name files")
		}
		named = []string{s.decisionLog.folder}
	}
	var all []string
	for _, path := range named {
		info, err := os.Stat(path)
		if err != nil && len(named) == 1 && path == s.decisionLog.folder {
			continue // nothing was decided yet
		}
		if err != nil {
			return nil, fmt.Errorf("decision log: %w", err)
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		files, err := decisionlog.Files(path)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// loggedCall is what a logged document tells about itself, for people.
type loggedCall struct {
	Action string `json:"action"` // of an admission
	Tool   struct {
		Name  string         `json:"name"`
		UseID string         `json:"use_id"`
		Input map[string]any `json:"input"`
	} `json:"tool"`
	Session struct {
		ID  string `json:"id"`
		Cwd string `json:"cwd"`
	} `json:"session"`
	Door       string         `json:"door"`
	Cwd        string         `json:"cwd"`
	Parameters map[string]any `json:"parameters"`
	Approval   struct {
		RequestID  string `json:"request_id"`
		DecisionID string `json:"decision_id"`
		Tool       string `json:"tool"`
		Effect     string `json:"effect"`
	} `json:"approval"`
	Server struct {
		Name string `json:"name"`
	} `json:"mcp_server"`
}

// entryOf is the entry point of an event, and what was judged there.
func entryOf(e decisionlog.Event) (policy.Entrypoint, loggedCall, bool) {
	path, ok := strings.CutPrefix(e.Path, "gatehouse/")
	name, decisions := strings.CutSuffix(path, "/decisions")
	var call loggedCall
	if !ok || !decisions || len(e.Input) == 0 || json.Unmarshal(e.Input, &call) != nil {
		return "", call, false
	}
	return policy.Entrypoint(name), call, true
}

// maxSummary bounds the summary of a call, in characters.
const maxSummary = 80

// summary says on one line what was judged.
func (k loggedCall) summary() string {
	text := ""
	switch {
	case k.Action == "answer":
		text = fmt.Sprintf("answer %s to %s", k.Approval.Effect, k.Approval.Tool)
	case k.Action == "mcp_server":
		text = "mcp_server " + k.Server.Name
	case k.Action != "":
		text = k.Action + " in " + k.Cwd
	default:
		text = strings.TrimSpace(k.Tool.Name + " " + mainArgument(k.Tool.Input))
	}
	return shorten(escapeControl(text), maxSummary)
}

// mainArgument is the argument of a tool that says most, or all of them.
func mainArgument(input map[string]any) string {
	for _, name := range []string{"command", "file_path", "path", "url", "notebook_path", "pattern", "subagent_type", "skill", "query"} {
		if text, ok := input[name].(string); ok && text != "" {
			return text
		}
	}
	if len(input) == 0 {
		return ""
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return ""
	}
	return string(raw)
}

// loggedResult is the part of a logged result that is compared.
type loggedResult struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	By     string `json:"by"`
	Layers []struct {
		Verdicts []loggedVerdict `json:"verdicts"`
	} `json:"layers"`
}

type loggedVerdict struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	Layer  string `json:"layer"`
}

func (r loggedResult) String() string { return r.Effect + ":" + r.Rule }

// writtenAt is the rule that decided an evaluation, with the place it is written.
func writtenAt(e policy.Evaluation) (where string) {
	for _, l := range e.Layers {
		for _, v := range l.Verdicts {
			if v.Rule == e.Decision.Rule && v.File != "" {
				return fmt.Sprintf("%s:%d", shortPath(v.File), v.Line)
			}
		}
	}
	return ""
}

// samePath reports whether two paths name one file.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func containsPath(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return samePath(p, path) })
}
