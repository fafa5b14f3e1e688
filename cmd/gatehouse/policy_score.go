package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/corpus"
)

// score is the report of policy score.
type score struct {
	OK         bool            `json:"ok"`
	Stop       share           `json:"stop"`  // of what must not run unasked
	Allow      share           `json:"allow"` // of what must run
	MinStop    float64         `json:"minStop"`
	MinAllow   float64         `json:"minAllow"`
	Either     int             `json:"either"` // everyday work that may be asked about or not
	Categories []categoryScore `json:"categories"`
	Failed     []failedRow     `json:"failed"`
}

// share is how many of a kind of rows came out right.
type share struct {
	Right    int     `json:"right"`
	All      int     `json:"all"`
	Percent  float64 `json:"percent"`  // 0 where nothing was measured
	Measured bool    `json:"measured"` // there were rows of this kind
}

type categoryScore struct {
	Category string `json:"category"`
	Stop     share  `json:"stop"`
	Allow    share  `json:"allow"`
}

// failedRow is a row that came out wrong.
type failedRow struct {
	Category string `json:"category"`
	Intent   string `json:"intent"`
	Call     string `json:"call"`
	Want     string `json:"want"` // allow, or stop
	Got      string `json:"got"`  // effect:rule
	Reason   string `json:"reason,omitempty"`
}

// policyScore judges the policies in force by a corpus of calls.
func (c *command) policyScore(ctx context.Context, args []string) int {
	o := c.policyFlags("score", "Judges the policies in force by a corpus of calls: what must not run unasked, and everyday reading\nthat must run. Both shares have to be reached, so neither allowing nor denying everything does.\nNothing runs; the calls meet files in a temporary folder.")
	o.dataFlag()
	minStop := o.flags.Float64("min-stop", 100, "`percent` of what must be stopped")
	minAllow := o.flags.Float64("min-allow", 80, "`percent` of what must run")
	file := o.flags.String("corpus", "", "`file` of your own: one JSON object a line with want (allow, ask, deny, stop), category, intent, and command or tool and input")
	var only []string
	o.flags.Func("category", "`name` of a category: only its rows; may be repeated", func(name string) error { only = append(only, name); return nil })
	var paths []string
	o.flags.Func("policy", "`file or folder` of policies in the place of policy.paths; may be repeated", func(p string) error { paths = append(paths, p); return nil })
	if code, done := o.parse(args); done {
		return code
	}
	if !percent(*minStop) || !percent(*minAllow) {
		return c.failPolicy(o, fmt.Errorf("score: --min-stop %g and --min-allow %g: want 0 to 100", *minStop, *minAllow))
	}
	s := &score{MinStop: *minStop, MinAllow: *minAllow, Categories: []categoryScore{}, Failed: []failedRow{}}
	if err := c.scoreRows(ctx, o, s, paths, *file, only); err != nil {
		return c.failPolicy(o, err)
	}
	s.OK = s.Stop.reaches(s.MinStop) && s.Allow.reaches(s.MinAllow)
	if o.json {
		if err := c.printJSON(s); err != nil {
			return c.fail(policyWrong, err)
		}
	} else {
		c.showScore(s)
	}
	if !s.OK {
		return policyNo
	}
	return policyYes
}

func (c *command) scoreRows(ctx context.Context, o *policyOptions, s *score, paths []string, file string, only []string) error {
	if len(o.rest) > 0 {
		return fmt.Errorf("score: takes no argument, got %q", o.rest[0])
	}
	rows, err := corpusRows(file)
	if err != nil {
		return err
	}
	if len(only) > 0 {
		rows = slices.DeleteFunc(rows, func(r corpus.Row) bool { return !slices.Contains(only, r.Category) })
	}
	settings, err := c.toolSettings(&o.options)
	if err == nil {
		settings, err = settings.withPolicies(paths, o.data)
	}
	if err != nil {
		return err
	}
	top, err := os.MkdirTemp("", "gatehouse-score-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	root, home, err := corpus.Workspace(top)
	if err != nil {
		return err
	}
	settings.home = home // ~ in a call means the one that was made
	set, err := inForce(ctx, settings)
	if err != nil {
		return err
	}
	return s.judge(ctx, set, rows, permission.Session{Cwd: root, Roots: []string{root}, Mode: "default", Turn: 1, MaxBudgetUSD: sampleBudget})
}

// judge asks the policies about every row. A set without rows of both kinds
// proves nothing.
func (s *score) judge(ctx context.Context, set *policy.Set, rows []corpus.Row, session permission.Session) error {
	for i, r := range rows {
		session.AllowedTools, session.DisallowedTools = r.Allowed, r.Disallowed
		d, err := set.Decide(ctx, permission.Request{
			SessionID: "score", Door: permission.DoorAsk, ToolUseID: fmt.Sprint("score-", i), Tool: r.Tool, Input: r.Input, Session: session,
		})
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.count(r, d)
	}
	if s.Stop.All+s.Allow.All == 0 {
		return errors.New("score: there are no rows of that kind")
	}
	s.Stop.finish()
	s.Allow.finish()
	for i := range s.Categories {
		s.Categories[i].Stop.finish()
		s.Categories[i].Allow.finish()
	}
	return nil
}

func (s *score) count(r corpus.Row, d permission.Decision) {
	want := r.Want
	switch {
	case want == "ask" && r.Everyday():
		s.Either++ // whether such work is asked about is the owner's business
		return
	case want != "allow":
		want = "stop"
	}
	runs := d.Effect == permission.Allow || d.Effect == permission.Modify
	right := runs == (want == "allow")
	k := s.category(r.Category)
	of, in := &s.Stop, &k.Stop
	if want == "allow" {
		of, in = &s.Allow, &k.Allow
	}
	of.add(right)
	in.add(right)
	if right {
		return
	}
	call := r.Command
	if r.Tool != "Bash" {
		call = r.Tool + " " + string(r.Input)
	}
	s.Failed = append(s.Failed, failedRow{
		Category: r.Category, Intent: r.Intent, Call: call, Want: want, Got: d.Effect.String() + ":" + d.Rule, Reason: d.Reason,
	})
}

func (s *score) category(name string) *categoryScore {
	i := slices.IndexFunc(s.Categories, func(k categoryScore) bool { return k.Category == name })
	if i < 0 {
		s.Categories, i = append(s.Categories, categoryScore{Category: name}), len(s.Categories)
	}
	return &s.Categories[i]
}

func (s *share) add(right bool) {
	s.All++
	if right {
		s.Right++
	}
}

// finish computes the percentage.
func (s *share) finish() {
	if s.Measured = s.All > 0; s.Measured {
		s.Percent = float64(s.Right) * 100 / float64(s.All)
	}
}

// reaches reports a share that is large enough. Without a row of the kind nothing
// was measured, and only a demand of nothing is met.
func (s share) reaches(percent float64) bool { return s.Percent >= percent }

// measured is the share and its percentage.
func (s share) measured() string {
	if !s.Measured {
		return "not measured: no such row"
	}
	return fmt.Sprintf("%s, %.1f %%", s, s.Percent)
}

func (s share) String() string {
	if s.All == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", s.Right, s.All)
}

func (c *command) showScore(s *score) {
	for _, f := range s.Failed {
		c.say("%-10s %-9s %s  %s, want %s", f.Category, f.Intent, shorten(f.Call, maxSummary), f.Got, f.Want)
	}
	width := 8
	for _, k := range s.Categories {
		width = max(width, len(k.Category))
	}
	c.say("%-*s  %12s  %12s", width, "category", "stopped", "allowed")
	for _, k := range s.Categories {
		c.say("%-*s  %12s  %12s", width, k.Category, k.Stop, k.Allow)
	}
	c.say("%s  stopped %s (want %g %%); allowed %s (want %g %%); %s may be asked about or not",
		c.mark(s.OK), s.Stop.measured(), s.MinStop, s.Allow.measured(), s.MinAllow, counted(s.Either, "row"))
}
