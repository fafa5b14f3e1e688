package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// Bounds of what a preview looks at and shows.
const (
	maxPreviewed = 1000 // logged calls of the tools at hand, newest files first
	maxExamples  = 5
)

// preview is what rows would change.
type preview struct {
	Examples []previewed `json:"examples"`          // made up: what the rows name, and what they do not
	Logged   int         `json:"logged"`            // calls of the decision log that were looked at
	Changes  []previewed `json:"changes,omitempty"` // of those, what would be decided otherwise, each once
	Others   []previewed `json:"others,omitempty"`  // what the rows name and another rule decides
}

// previewed is one call, before and then.
type previewed struct {
	Call string `json:"call"`
	Old  string `json:"old"`
	New  string `json:"new"`
	N    int    `json:"n,omitempty"` // how often it stands in the log

	first bool // the first example of its row
}

func previewOf(ctx context.Context, s *settings, sets comparison, rows []dailyRow) (preview, error) {
	p := preview{Examples: []previewed{}}
	for _, row := range rows {
		if len(rows) > maxExamples {
			break // an import: its rules were somebody's already
		}
		examples, err := sets.examples(ctx, s, row)
		if err != nil {
			return p, err
		}
		p.Examples = append(p.Examples, examples...)
	}
	return p, p.fromLog(ctx, s, sets, rows)
}

// examples judges made-up calls by both sets.
func (sets comparison) examples(ctx context.Context, s *settings, row dailyRow) ([]previewed, error) {
	var all []previewed
	for i, input := range row.exampleInputs(row.cwd(s)) {
		doc, call, err := sets.example(s, row, input)
		if err != nil {
			return nil, err
		}
		one, _, err := sets.judge(ctx, policy.EntryPermission, doc)
		if err != nil {
			return nil, err
		}
		one.Call, one.first = call, i == 0
		all = append(all, one)
	}
	return all, nil
}

// example is the document of a made-up call, and its name for people.
func (sets comparison) example(s *settings, row dailyRow, input map[string]any) (doc json.RawMessage, call string, err error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, "", err
	}
	cwd, roots := row.cwd(s), s.roots
	if cwd != s.start {
		roots = []string{cwd}
	}
	doc, err = sets.then.Document(permission.Request{
		SessionID: "preview", Door: permission.DoorAsk, ToolUseID: "preview", Tool: row.exampleTool(), Input: raw,
		Session: permission.Session{Cwd: cwd, Roots: roots, Mode: "default", Turn: 1, MaxBudgetUSD: sampleBudget},
	})
	return doc, strings.TrimSpace(row.exampleTool() + " " + shorten(mainArgument(input), maxSummary)), err
}

// cwd is a folder the row counts in: the current one, or else its own.
func (r dailyRow) cwd(s *settings) string {
	if r.Folder == "" || facts.Within(r.Folder, s.start) {
		return s.start
	}
	return r.Folder
}

// judge asks both sets about a document. named: more daily rules spoke in the second.
func (sets comparison) judge(ctx context.Context, e policy.Entrypoint, doc json.RawMessage) (one previewed, named bool, err error) {
	now, err := sets.now.Evaluate(ctx, e, doc)
	if err != nil {
		return one, false, err
	}
	then, err := sets.then.Evaluate(ctx, e, doc)
	if err != nil {
		return one, false, err
	}
	one = previewed{Old: decided(now), New: decided(then)}
	return one, daily(then) > daily(now), nil
}

// daily counts what daily rules said.
func daily(e policy.Evaluation) (n int) {
	for _, l := range e.Layers {
		for _, v := range l.Verdicts {
			if strings.HasPrefix(v.Rule, "daily.") {
				n++
			}
		}
	}
	return n
}

func decided(e policy.Evaluation) string { return e.Decision.Effect.String() + ":" + e.Decision.Rule }

func (r dailyRow) exampleTool() string {
	return strings.TrimSuffix(r.Tool, "*") + strings.Repeat("example", strings.Count(r.Tool, "*"))
}

// exampleInputs are calls the row names, and some that only look like it.
func (r dailyRow) exampleInputs(cwd string) []map[string]any {
	command := func(text string) map[string]any { return map[string]any{"command": text} }
	sample := r.sample()
	switch {
	case r.Tool == "Bash":
		return []map[string]any{command(sample), command(sample + " && rm -rf build"), command(sample + " > out.txt")}
	case r.Tool == "WebFetch":
		if r.Pattern == "" {
			sample = "example.com"
		}
		return []map[string]any{{"url": "https://" + sample + "/", "prompt": "read"}}
	case r.Tool == "Agent":
		return []map[string]any{{"subagent_type": r.Pattern, "prompt": "work", "description": "work"}}
	case r.Tool == "Skill":
		return []map[string]any{{"skill": r.Pattern}}
	case slices.Contains(fileTools, r.Tool):
		path := filepath.Join(cwd, "example.txt")
		if rest, ok := strings.CutPrefix(sample, sampleFolder); ok && r.Pattern != "" {
			path = filepath.Join(cmp.Or(r.Folder, cwd), rest)
		} else if r.Pattern != "" {
			path = sample
		}
		return []map[string]any{{"file_path": path, "notebook_path": path, "path": path, "content": "", "pattern": "x"}}
	}
	return []map[string]any{{}}
}

// errEnough ends the reading of a log.
var errEnough = errors.New("enough")

// fromLog judges what stands in the decision log by both sets.
func (p *preview) fromLog(ctx context.Context, s *settings, sets comparison, rows []dailyRow) error {
	if s.decisionLog.folder == "" {
		return nil
	}
	files, err := decisionlog.Files(s.decisionLog.folder)
	if err != nil {
		return err
	}
	slices.Reverse(files)
	changes, others := callTally{}, callTally{}
	for _, file := range files {
		_, err := decisionlog.ReadFile(file, func(e decisionlog.Event) error {
			entry, call, ok := entryOf(e)
			if !ok || entry != policy.EntryPermission || call.Door == string(permission.DoorAnswer) || !concern(rows, call.Tool.Name) {
				return nil
			}
			if p.Logged++; p.Logged > maxPreviewed {
				return errEnough
			}
			one, named, err := sets.judge(ctx, entry, e.Input)
			if err != nil {
				return ctx.Err() // a document of another version says nothing
			}
			one.Call = call.summary()
			switch {
			case one.Old != one.New:
				changes.add(one)
			case named:
				others.add(one)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	p.Logged = min(p.Logged, maxPreviewed)
	p.Changes, p.Others = changes.sorted(), others.sorted()
	return nil
}

// concern reports whether any row can speak about a tool.
func concern(rows []dailyRow, tool string) bool {
	return slices.ContainsFunc(rows, func(r dailyRow) bool {
		prefix, starred := strings.CutSuffix(r.Tool, "*")
		return r.Tool == tool || starred && strings.HasPrefix(tool, prefix) || strings.HasPrefix(tool, r.Tool+"__") ||
			r.Tool == "Agent" && tool == "Task" || slices.Contains(fileTools, r.Tool) && slices.Contains(fileTools, tool)
	})
}

// callTally counts equal calls.
type callTally map[previewed]int

func (t callTally) add(one previewed) { t[one]++ }

func (t callTally) sorted() []previewed {
	var all []previewed
	for one, n := range t {
		one.N = n
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b previewed) int {
		if a.N != b.N {
			return b.N - a.N
		}
		return strings.Compare(a.Call+a.New, b.Call+b.New)
	})
	return all
}
