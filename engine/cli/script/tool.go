package script

import (
	"errors"
	"fmt"
	"sync"
)

// call is a tool call on its way.
type call struct {
	tool     Tool
	id       string
	input    map[string]any      // as executed: hooks and answers replace it
	announce func()              // sends the assistant frame, once
	opened   func()              // a question is out, or none will be
	asking   bool                // can_use_tool is pending
	stop     bool                // a hook said continue:false
	work     func() (any, error) // instead of the scripted output: a sub-agent
	extras   map[string]any      // of a tool result of MCP: what no hook replaces
}

func (p *process) newCall(a *actor, t Tool) *call {
	p.mu.Lock()
	p.calls++
	id := t.ID
	if id == "" {
		id = fmt.Sprintf("toolu_script_%04d", p.calls)
	}
	p.mu.Unlock()
	input, _ := p.expand(a.t, t.Input).(map[string]any)
	if t.Input == nil {
		input = map[string]any{}
	}
	t.fill(input)
	c := &call{tool: t, id: id, input: input, opened: func() {}}
	original := input // the frame keeps what the model asked for
	c.announce = sync.OnceFunc(func() {
		p.assistant(a, map[string]any{"type": "tool_use", "id": id, "name": t.Name, "input": original})
	})
	return c
}

// play takes a call from the assistant frame to its tool_result.
func (p *process) play(a *actor, c *call) error {
	finish, err := p.settle(a, c)
	if err != nil {
		return err
	}
	return finish()
}

// settle decides and runs a call, its PostToolUse hooks included. The returned
// function sends the result: in a message of several calls the next one is
// asked before that.
func (p *process) settle(a *actor, c *call) (func() error, error) {
	a.toolStarted(p, c)
	if c.tool.Unmediated {
		c.announce()
	} else {
		no, err := p.mediate(a, c)
		c.announce()
		switch {
		case err != nil:
			return nil, p.aborted(a, c, err)
		case no != nil && no.interrupt:
			return nil, p.refuse(a, c, no)
		case no != nil:
			return func() error { return p.refuse(a, c, no) }, nil
		}
	}
	c.opened() // nothing was asked; whoever waits goes on
	response, err := p.execute(a, c)
	if err == nil {
		response, err = p.postToolUse(a, c, response)
	}
	if err != nil {
		return nil, p.aborted(a, c, err)
	}
	return func() error { return p.report(a, c, response) }, nil
}

// toolFailed is the outcome of a call that ran and failed.
type toolFailed string

func (p *process) execute(a *actor, c *call) (any, error) {
	if c.work != nil {
		return c.work()
	}
	if s, tool := p.splitTool(c.tool.Name); s != nil {
		return p.callServer(a, c, s, tool)
	}
	var err error
	switch {
	case c.tool.WaitInterrupt:
		err = p.await(a.t.ctx, p.gone)
	case c.tool.DurationMS > 0:
		err = p.sleep(a.t.ctx, c.tool.DurationMS)
	}
	if err != nil {
		return nil, err
	}
	if c.tool.Error != "" {
		return toolFailed(p.text(a.t, c.tool.Error)), nil
	}
	return p.response(a.t, c), nil
}

// postToolUse calls the hooks of a call that ran and returns its output, maybe
// replaced; the output of a failed call stays.
func (p *process) postToolUse(a *actor, c *call, response any) (any, error) {
	ev := event{name: "PostToolUse", target: c.tool.Name, toolUseID: c.id, fields: map[string]any{
		"tool_name": c.tool.Name, "tool_input": c.input, "duration_ms": c.tool.DurationMS,
	}}
	text, failed := response.(toolFailed)
	if failed {
		ev.name, ev.fields["error"], ev.fields["is_interrupt"] = "PostToolUseFailure", string(text), false
	} else {
		ev.fields["tool_response"] = response
	}
	outs, err := p.fire(a, ev)
	if err != nil || failed {
		return response, err
	}
	return c.redacted(response, outs), nil
}

// report sends the result of a call that ran.
func (p *process) report(a *actor, c *call, response any) error {
	if text, failed := response.(toolFailed); failed {
		p.errorResult(a, c, string(text))
		return p.batch(a, c, response)
	}
	if c.tool.Name == "ExitPlanMode" {
		p.mu.Lock()
		p.mode = "default"
		p.mu.Unlock()
		p.sendStatus("default")
	}
	block := map[string]any{"type": "tool_result", "tool_use_id": c.id, "content": c.render(response)}
	if c.tool.Name == "Bash" {
		block["is_error"] = false
	}
	p.toolResult(a, c, block, c.shown(response))
	if c.tool.Name == "StructuredOutput" {
		a.t.structured = c.input
	}
	return p.batch(a, c, response)
}

// batch ends a call: the PostToolBatch hook, then what a hook asked for.
func (p *process) batch(a *actor, c *call, response any) error {
	_, err := p.fire(a, event{name: "PostToolBatch", fields: map[string]any{"tool_calls": []any{map[string]any{
		"tool_name": c.tool.Name, "tool_input": c.input, "tool_use_id": c.id, "tool_response": response,
	}}}})
	if err == nil && c.stop {
		return errHookStopped
	}
	return err
}

func (p *process) refuse(a *actor, c *call, no *refusal) error {
	if !no.uncounted {
		a.t.deny(c)
	}
	if !no.interrupt {
		p.errorResult(a, c, no.text)
		return nil
	}
	p.rejectResult(a, c)
	a.t.cancel(errInterrupted) // calls beside this one end too
	return errDenyInterrupt
}

var errAbortedTools = errors.New("interrupted during a tool call")

// aborted reports a call that an interrupt stopped. Inside a sub-agent only the
// Agent call itself is reported.
func (p *process) aborted(a *actor, c *call, err error) error {
	if c.asking {
		a.t.deny(c)
	}
	if !errors.Is(err, errInterrupted) || a.agentID != "" {
		return err
	}
	p.rejectResult(a, c)
	return errAbortedTools
}

func (p *process) errorResult(a *actor, c *call, text string) {
	p.toolResult(a, c, map[string]any{"type": "tool_result", "tool_use_id": c.id, "content": text, "is_error": true}, c.shown("Error: "+text))
}

func (p *process) rejectResult(a *actor, c *call) {
	p.toolResult(a, c, map[string]any{"type": "tool_result", "tool_use_id": c.id, "content": textRejected, "is_error": true}, "User rejected tool use")
}

func (p *process) toolResult(a *actor, c *call, block map[string]any, toolUseResult any) {
	p.expect(c, block)
	p.user(a, block, toolUseResult)
	if a.agentID == "" {
		a.t.countResult()
	}
}
