package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// asker puts a session's questions to whoever sits at stdin, one at a time.
type asker struct {
	out   io.Writer     // where questions are shown
	input <-chan string // nil: nobody answers, the engine denies
	after time.Duration // answer allow by itself after this long; 0 = never

	script bool // lines are written by a program: a form takes one line

	session interface { // an engine.Session
		Answer(context.Context, engine.Answer) error
	}
	open    *engine.Action
	answers map[string]string // of a question action, by question text
	draft   *formDraft        // of a form action; nil until its first property is shown
	timer   <-chan time.Time
}

func newAsker(c *command, o *options) *asker {
	a := &asker{out: c.stderr, script: o.onAsk == onAskStdin}
	if o.onAsk != onAskDeny {
		a.input = lines(c.stdin, nil)
	}
	return a
}

// lines is the input while a question is open, else nil, which never delivers.
func (a *asker) lines() <-chan string {
	if a.open == nil {
		return nil
	}
	return a.input
}

func (a *asker) alarm() <-chan time.Time {
	if a.open == nil {
		return nil
	}
	return a.timer
}

// look shows the oldest pending action if none is open, and forgets an open
// one that somebody else or the deadline settled.
func (a *asker) look(_ context.Context, session *engine.Session) {
	a.session = session
	pending := session.Pending()
	if a.open != nil {
		for _, p := range pending {
			if p.RequestID == a.open.RequestID {
				return
			}
		}
		a.open = nil
	}
	if len(pending) == 0 || a.input == nil && a.after == 0 {
		return
	}
	a.open, a.answers, a.draft = &pending[0], map[string]string{}, nil
	if a.after > 0 {
		a.timer = time.After(a.after)
	}
	a.show()
}

func (a *asker) show() {
	p := a.open
	fmt.Fprintf(a.out, "? %s wants: %s\n", escapeControl(p.ToolName), escapeControl(p.Summary))
	for _, f := range p.Fields {
		fmt.Fprintf(a.out, "  %s: %s\n", escapeControl(f.Pointer), escapeControl(f.Value))
	}
	fmt.Fprintf(a.out, "  rule %s: %s\n", escapeControl(p.Rule), escapeControl(p.Reason))
	if p.Scope != "" {
		fmt.Fprintf(a.out, "  allowing it covers %s\n", covers(p.Scope, p.ScopeTTL))
	}
	switch p.Type {
	case "question":
		a.showQuestion()
	case "form":
		a.showForm()
	case "plan":
		fmt.Fprintf(a.out, "%s\n[a]pprove / [d]eny feedback > ", escapeLines(p.Plan))
	default:
		fmt.Fprint(a.out, "[a]llow / [d]eny reason / [v]iew input > ")
	}
}

// line takes one line of input; ok is false when there is no more.
func (a *asker) line(ctx context.Context, line string, ok bool) {
	if !ok {
		a.input = nil
		a.send(ctx, engine.Answer{DenyMessage: "nobody answered: stdin ended"})
		return
	}
	if a.open.Type == "form" {
		a.formLine(ctx, line)
		return
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "d", "deny", "n", "no":
		a.send(ctx, engine.Answer{DenyMessage: strings.TrimSpace(rest)})
	case "v", "view":
		fmt.Fprintf(a.out, "%s\nsha256 %s\n", escapeLines(indent(a.open.Input)), a.open.InputSHA256)
		a.show()
	case "a", "allow", "approve", "y", "yes":
		if a.open.Type == "question" {
			a.showQuestion()
			return
		}
		a.send(ctx, engine.Answer{Allow: true})
	default:
		if a.open.Type == "question" {
			a.choose(ctx, strings.TrimSpace(line))
			return
		}
		fmt.Fprint(a.out, "allow, deny or view? > ")
	}
}

// automatic answers in the place of a person who is not there; demo only.
func (a *asker) automatic(ctx context.Context) {
	fmt.Fprintln(a.out, "(nobody answered: allowed by the demo itself)")
	a.send(ctx, engine.Answer{Allow: true})
}

func (a *asker) send(ctx context.Context, answer engine.Answer) {
	answer.RequestID, answer.Approver = a.open.RequestID, "human"
	if err := a.session.Answer(ctx, answer); err != nil {
		fmt.Fprintf(a.out, "answer not taken: %s\n", escapeControl(err.Error()))
	}
	a.open = nil
}

// question is one of AskUserQuestion's.
type question struct {
	Question    string `json:"question"`
	MultiSelect bool   `json:"multiSelect"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// next returns the first question without an answer.
func (a *asker) next() (question, bool) {
	var all []question
	if err := json.Unmarshal(a.open.Questions, &all); err != nil {
		return question{}, false
	}
	for _, q := range all {
		if _, answered := a.answers[q.Question]; !answered {
			return q, true
		}
	}
	return question{}, false
}

func (a *asker) showQuestion() {
	q, ok := a.next()
	if !ok {
		fmt.Fprint(a.out, "[d]eny reason > ")
		return
	}
	fmt.Fprintf(a.out, "%s\n", escapeControl(q.Question))
	for i, o := range q.Options {
		fmt.Fprintf(a.out, "  %d  %s  %s\n", i+1, escapeControl(o.Label), escapeControl(o.Description))
	}
	fmt.Fprint(a.out, "number, or numbers with commas / [d]eny reason > ")
}

// choose takes option numbers for the next question and answers after the last.
func (a *asker) choose(ctx context.Context, numbers string) {
	q, ok := a.next()
	var labels []string
	for text := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if !ok || err != nil || n < 1 || n > len(q.Options) || len(labels) > 0 && !q.MultiSelect {
			a.showQuestion()
			return
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	a.answers[q.Question] = strings.Join(labels, ", ")
	if _, more := a.next(); more {
		a.showQuestion()
		return
	}
	input, err := withAnswers(a.open.Input, a.answers)
	if err != nil {
		a.send(ctx, engine.Answer{DenyMessage: "the question could not be read"})
		return
	}
	a.send(ctx, engine.Answer{Allow: true, UpdatedInput: input})
}

func withAnswers(input json.RawMessage, answers map[string]string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, fmt.Errorf("question input: %w", err)
	}
	encoded, err := json.Marshal(answers)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	members["answers"] = encoded
	return json.Marshal(members)
}

func indent(raw json.RawMessage) string {
	out, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}
