package script

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// costPerCall is what every reply of the model costs, in dollars.
const costPerCall = 0.001

var (
	errMaxTurns  = errors.New("maximum number of turns")
	errMaxBudget = errors.New("maximum budget")
)

// turn is the work on one user message, or on the end of a background agent.
type turn struct {
	ctx        context.Context // ends with an interrupt
	cancel     context.CancelCauseFunc
	steps      []Step
	prompt     string
	hasPrompt  bool
	message    json.RawMessage // the user message, for --replay-user-messages
	origin     string          // of a turn without user message
	promptID   string
	messageID  string
	lastText   string
	structured any
	override   *Result
	background []func() // agents to start when the turn has ended

	mu      sync.Mutex
	results int // tool results and interruptions: num_turns - 1
	denials []any
}

func newTurn(steps []Step) *turn {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &turn{ctx: ctx, cancel: cancel, steps: steps, promptID: newUUID(), denials: []any{}}
}

func (t *turn) countResult() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results++
}

func (t *turn) deny(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.denials = append(t.denials, map[string]any{"tool_name": c.tool.Name, "tool_use_id": c.id, "tool_input": c.input})
}

// actor is who speaks: the main thread or a sub-agent.
type actor struct {
	t          *turn
	agentID    string // empty: the main thread
	agentType  string
	parent     string // tool_use id of the Agent call
	task       string // description of the Agent call
	background bool
	inMessage  bool // the model's reply goes on
	replies    int
	tools      int
}

// fields adds what frames of this actor carry.
func (a *actor) fields(m map[string]any) map[string]any {
	m["parent_tool_use_id"] = nil
	if a.agentID != "" {
		maps.Copy(m, map[string]any{
			"parent_tool_use_id": a.parent, "subagent_type": a.agentType, "task_description": a.task,
		})
	}
	return m
}

// playTurn plays one turn and reports its result.
func (p *process) playTurn(t *turn) {
	a := &actor{t: t}
	err := p.begin(a)
	if err == nil {
		err = p.steps(a, t.steps)
	}
	if err == nil {
		_, err = p.fire(a, event{name: "Stop", fields: map[string]any{
			"stop_hook_active": false, "last_assistant_message": t.lastText,
		}})
	}
	p.finish(a, err)
	p.mu.Lock()
	p.active = nil
	p.agents += len(t.background)
	p.mu.Unlock()
	t.cancel(nil)
	for _, start := range t.background {
		go start() // ends with the agent's script or the process
	}
}

var errBlocked = errors.New("prompt blocked by a hook")

// begin runs the prompt's hooks and sends init.
func (p *process) begin(a *actor) error {
	if p.beforeInit() {
		return errExit
	}
	if p.sc.NeverInit {
		if err := p.await(context.Background(), p.gone); err != nil {
			return err
		}
		p.exit(0)
		return errExit
	}
	if err := p.connect(a.t.ctx); err != nil {
		return err
	}
	reason, blocked, err := p.promptHooks(a)
	if err != nil {
		return err
	}
	p.sendInit()
	if !blocked {
		return nil
	}
	text := "UserPromptSubmit operation blocked by hook:\n" + reason + "\n\nOriginal prompt: " + a.t.prompt
	p.system("informational", map[string]any{"content": text, "level": "warning", "prevent_continuation": true})
	a.t.lastText = text
	return errBlocked
}

func (p *process) promptHooks(a *actor) (reason string, blocked bool, err error) {
	if !a.t.hasPrompt {
		return "", false, nil
	}
	events := []event{{name: "UserPromptSubmit", fields: map[string]any{"prompt": a.t.prompt}}}
	if command, slash := strings.CutPrefix(a.t.prompt, "/"); slash {
		name, args, _ := strings.Cut(command, " ")
		events = append([]event{{name: "UserPromptExpansion", fields: map[string]any{
			"expansion_type": "slash_command", "command_name": name, "command_args": args,
			"command_source": "projectSettings", "prompt": a.t.prompt,
		}}}, events...)
	}
	for _, ev := range events {
		outs, err := p.fire(a, ev)
		if err != nil {
			return "", false, err
		}
		for _, o := range outs {
			if o.Decision == "block" {
				return o.Reason, true, nil
			}
		}
	}
	return "", false, nil
}

// reply begins a reply of the model unless one goes on, within the limits of
// the command line.
func (p *process) reply(a *actor) error {
	if a.inMessage {
		return nil
	}
	if a.agentID == "" {
		if n, err := strconv.Atoi(p.opt.get("--max-turns")); err == nil && n > 0 && a.replies >= n {
			return errMaxTurns
		}
	}
	p.mu.Lock()
	spent := p.cost
	p.cost += costPerCall
	p.mu.Unlock()
	if limit, err := strconv.ParseFloat(p.opt.get("--max-budget-usd"), 64); err == nil && a.replies > 0 && spent > limit {
		return errMaxBudget
	}
	p.newMessage(a.t)
	a.inMessage = true
	a.replies++
	if a.replies == 1 && a.agentID == "" && a.t.hasPrompt && p.opt.has("--replay-user-messages") {
		p.send(p.frame(map[string]any{"type": "user", "message": a.t.message, "parent_tool_use_id": nil, "isReplay": true}))
	}
	return nil
}

// steps plays a list of steps until one of them ends the turn.
func (p *process) steps(a *actor, steps []Step) error {
	for _, s := range steps {
		select {
		case <-p.quit:
			return errExit
		case <-a.t.ctx.Done():
			return context.Cause(a.t.ctx)
		default:
		}
		if err := p.step(a, s); err != nil {
			return err
		}
		if a.t.structured != nil {
			return nil // StructuredOutput ends the turn
		}
	}
	return nil
}
