package script

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// agent plays a sub-agent: an Agent call whose work is a script of its own.
func (p *process) agent(a *actor, ag Agent) error {
	if ag.Type == "" {
		ag.Type = "general-purpose"
	}
	input := map[string]any{"description": ag.Description, "prompt": ag.Prompt, "subagent_type": ag.Type}
	if ag.Background {
		input["run_in_background"] = true
	}
	c := p.newCall(a, Tool{Name: "Agent", Input: input, ID: ag.ID})
	sub := &actor{
		t: a.t, agentID: ag.AgentID, agentType: ag.Type, parent: c.id, task: ag.Description, background: ag.Background,
	}
	if sub.agentID == "" {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		sub.agentID = "a" + hex.EncodeToString(b[:])
	}
	c.work = func() (any, error) { return p.foreground(sub, c, ag) }
	if ag.Background {
		c.work = func() (any, error) { return p.launch(a, sub, ag), nil }
	}
	return p.play(a, c)
}

func (p *process) taskStarted(sub *actor, ag Agent) {
	p.system("task_started", map[string]any{
		"task_id": sub.agentID, "tool_use_id": sub.parent, "description": ag.Description,
		"subagent_type": ag.Type, "task_type": "local_agent", "prompt": ag.Prompt,
	})
}

// foreground plays the agent while the Agent call waits.
func (p *process) foreground(sub *actor, c *call, ag Agent) (any, error) {
	p.taskStarted(sub, ag)
	outer := sub.t.lastText // the agent's words are not the turn's result
	defer func() { sub.t.lastText = outer }()
	if _, err := p.fire(sub, event{name: "SubagentStart", target: ag.Type}); err != nil {
		return nil, err
	}
	p.user(sub, textBlock(ag.Prompt), nil)
	sub.t.lastText = ""
	if err := p.steps(sub, ag.Steps); err != nil {
		return nil, err
	}
	text := sub.t.lastText
	if err := p.subagentStop(sub, text); err != nil {
		return nil, err
	}
	p.taskEnded(sub, ag.Description)
	return map[string]any{
		"status": "completed", "prompt": ag.Prompt, "agentId": sub.agentID, "agentType": ag.Type,
		"content": agentText(sub.agentID, text), "totalToolUseCount": sub.tools,
	}, nil
}

func (p *process) subagentStop(sub *actor, text string) error {
	_, err := p.fire(sub, event{name: "SubagentStop", target: sub.agentType, fields: map[string]any{
		"stop_hook_active": false, "last_assistant_message": text, "agent_transcript_path": p.transcriptPath(),
	}})
	return err
}

// taskEnded reports the agent's end to the host.
func (p *process) taskEnded(sub *actor, summary string) {
	p.system("task_updated", map[string]any{"task_id": sub.agentID, "patch": map[string]any{"status": "completed"}})
	p.system("task_notification", map[string]any{
		"task_id": sub.agentID, "tool_use_id": sub.parent, "status": "completed", "output_file": "", "summary": summary,
		"usage": map[string]any{"tool_uses": sub.tools},
	})
}

// launch leaves the agent to run when the turn has ended.
func (p *process) launch(a *actor, sub *actor, ag Agent) any {
	p.taskStarted(sub, ag)
	outer := a.t
	outer.background = append(outer.background, func() { p.playBackground(sub, outer, ag) })
	return map[string]any{
		"isAsync": true, "status": "async_launched", "agentId": sub.agentID, "description": ag.Description,
		"prompt": ag.Prompt, "content": agentText(sub.agentID, "The agent was started."),
	}
}

// playBackground plays the agent beside later turns; its end begins a turn of
// its own, without any user message.
func (p *process) playBackground(sub *actor, outer *turn, ag Agent) {
	own := newTurn(nil)
	own.promptID, own.prompt = outer.promptID, outer.prompt
	sub.t = own
	err := p.steps(sub, ag.Steps)
	if err == nil {
		err = p.subagentStop(sub, own.lastText)
	}
	own.cancel(context.Canceled)
	if err == nil {
		p.taskEnded(sub, "Agent \""+ag.Description+"\" finished")
		after := ag.After
		if after == nil {
			after = []Step{{Text: "The background agent has finished."}}
		}
		next := newTurn(after)
		next.origin, next.promptID = "task-notification", outer.promptID
		p.mu.Lock()
		p.queue = append(p.queue, next)
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.agents--
	p.mu.Unlock()
	p.poke()
}

// toolStarted sends what precedes a call. A foreground agent's hook question
// comes before the assistant frame of the very call, all others after it.
func (a *actor) toolStarted(p *process, c *call) {
	if a.agentID == "" || a.background {
		c.announce()
	}
	if a.agentID == "" {
		return
	}
	p.mu.Lock()
	a.tools++
	tools := a.tools
	p.mu.Unlock()
	p.system("task_progress", map[string]any{
		"task_id": a.agentID, "tool_use_id": a.parent, "description": "Running " + c.tool.Name,
		"subagent_type": a.agentType, "last_tool_name": c.tool.Name, "usage": map[string]any{"tool_uses": tools},
	})
}
