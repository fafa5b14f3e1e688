package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
)

// step plays one step.
func (p *process) step(a *actor, s Step) error {
	switch {
	case s.Text != "", s.Thinking != "", s.Partial != nil, s.Reveal != "":
		return p.speak(a, s)
	case s.Tool != nil, s.Parallel != nil, s.Agent != nil:
		return p.act(a, s)
	case s.Result != nil:
		a.t.override = s.Result
	case s.APIRetry != nil:
		return p.retry(a, *s.APIRetry)
	case s.APIError != nil:
		return p.apiError(a, *s.APIError)
	case s.Silence:
		return p.await(context.Background(), nil)
	case s.SleepMS > 0:
		return p.sleep(a.t.ctx, s.SleepMS)
	case s.Stderr != "":
		fmt.Fprintln(p.stderr, p.text(a.t, s.Stderr))
	case s.Interrupt:
		return p.await(a.t.ctx, p.gone)
	case s.Exit != nil:
		p.fail(s.Exit.Code, s.Exit.Stderr)
		return errExit
	case s.SpawnChild != nil:
		return p.spawn(a, s.SpawnChild)
	default:
		return p.misbehave(a, s)
	}
	return nil
}

// speak sends a text or thinking block.
func (p *process) speak(a *actor, s Step) error {
	if err := p.reply(a); err != nil {
		return err
	}
	if s.Thinking != "" {
		p.assistant(a, map[string]any{"type": "thinking", "thinking": p.text(a.t, s.Thinking), "signature": "script"})
		return nil
	}
	text := p.text(a.t, s.Text)
	switch {
	case s.Partial != nil:
		text = p.text(a.t, strings.Join(s.Partial, ""))
		p.streamText(a, s.Partial, text)
	case s.Reveal != "":
		text = p.reveal(a, s.Reveal)
		fallthrough
	default:
		if a.agentID == "" || a.background { // a foreground agent's text is in its result only
			p.assistant(a, textBlock(text))
		}
	}
	a.t.lastText = text
	return nil
}

// streamText announces a text block delta by delta. The assistant frame comes
// before the block's stop event; without --include-partial-messages it is all there is.
func (p *process) streamText(a *actor, deltas []string, text string) {
	if !p.opt.has("--include-partial-messages") {
		p.assistant(a, textBlock(text))
		return
	}
	stream := func(event map[string]any) {
		p.send(p.frame(a.fields(map[string]any{"type": "stream_event", "event": event})))
	}
	stream(map[string]any{"type": "message_start", "message": map[string]any{"id": a.t.messageID, "role": "assistant", "content": []any{}}})
	stream(map[string]any{"type": "content_block_start", "index": 0, "content_block": textBlock("")})
	for _, d := range deltas {
		stream(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": p.text(a.t, d)}})
	}
	p.assistant(a, textBlock(text))
	stream(map[string]any{"type": "content_block_stop", "index": 0})
	stream(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "end_turn"}, "usage": usage(1)})
	stream(map[string]any{"type": "message_stop"})
}

// act makes tool calls; the model's next words are another reply.
func (p *process) act(a *actor, s Step) error {
	if err := p.reply(a); err != nil {
		return err
	}
	defer func() { a.inMessage = false }()
	switch {
	case s.Tool != nil:
		return p.play(a, p.newCall(a, *s.Tool))
	case s.Parallel != nil:
		return p.parallel(a, s.Parallel)
	}
	return p.agent(a, *s.Agent)
}

// misbehave plays steps a host does not expect from a healthy CLI, and requests
// outside the tool flow.
func (p *process) misbehave(a *actor, s Step) error {
	switch {
	case s.Raw != nil:
		p.sendLine([]byte(*s.Raw + "\n"))
	case s.Oversized > 0:
		p.assistant(a, textBlock(strings.Repeat("x", s.Oversized)))
	case s.Unended > 0:
		for piece := 1 << 20; s.Unended > 0; s.Unended -= piece {
			p.sendLine(bytes.Repeat([]byte("x"), min(piece, s.Unended)))
		}
	case s.Flood > 0:
		return p.flood(a, s.Flood)
	case s.Frame != nil:
		p.send(p.frame(maps.Clone(s.Frame)))
	case s.Request != nil:
		return p.request(a, s.Request)
	case s.Elicitation != nil:
		return p.request(a, s.Elicitation, "subtype", "elicitation")
	case s.RateLimit != nil:
		p.rateLimit(*s.RateLimit)
	case s.MCPMessage != nil:
		return p.mcpMessage(a, s.MCPMessage)
	case s.MCPWait != nil:
		return p.mcpWait(a, s.MCPWait)
	case s.MCPUntil != nil:
		return p.until(a.t.ctx, s.MCPUntil)
	case s.MCPHandshake != "":
		return p.mcpHandshake(a.t.ctx, s.MCPHandshake)
	}
	return nil
}

func (p *process) flood(a *actor, n int) error {
	for i := range n {
		select {
		case <-p.quit:
			return errExit
		case <-a.t.ctx.Done():
			return errInterrupted
		default:
			p.assistant(a, textBlock(fmt.Sprintf("flood %d", i+1)))
		}
	}
	return nil
}

// request puts a control_request; whatever the answer, the script goes on.
func (p *process) request(a *actor, fields map[string]any, add ...string) error {
	req, _ := p.expand(a.t, fields).(map[string]any)
	for i := 0; i+1 < len(add); i += 2 {
		req[add[i]] = add[i+1]
	}
	_, err := p.ask(a, inquiry{request: req})
	return err
}

// reveal describes the process to the test that looks at it.
func (p *process) reveal(a *actor, what string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v any
	switch {
	case what == "args":
		v = p.opt.args
	case what == "mcp-config":
		v = p.mcpConfig()
	case what == "cwd":
		v = p.cwd
	case what == "prompt":
		v = a.t.prompt
	case what == "initialize":
		v = p.initialize
	case what == "instructions":
		v = p.instructions()
	case what == "answer":
		v = map[string]any{"response": p.lastAnswer.body}
		if err := p.lastAnswer.err; err != nil {
			v = map[string]any{"error": err.Error()}
		}
	case strings.HasPrefix(what, "env:"):
		v = nil
		if value, set := os.LookupEnv(strings.TrimPrefix(what, "env:")); set {
			v = value
		}
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// mcpConfig is what the file of --mcp-config holds, and its mode; nil without one.
func (p *process) mcpConfig() any {
	for _, arg := range p.opt.args {
		path, ok := strings.CutPrefix(arg, "--mcp-config=")
		if !ok {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		info, err := os.Stat(path)
		var servers map[string]any
		if err != nil || json.Unmarshal(raw, &servers) != nil {
			return map[string]any{"error": "no JSON object"}
		}
		servers["mode"] = info.Mode().String()
		return servers
	}
	return nil
}

// spawn starts a child that outlives this process unless somebody sweeps it.
func (p *process) spawn(a *actor, c *Child) error {
	pid, err := startChild()
	if err != nil {
		return fmt.Errorf("spawn child: %w", err)
	}
	if err := os.WriteFile(p.text(a.t, c.PIDFile), fmt.Appendf(nil, "%d\n", pid), 0o600); err != nil {
		return fmt.Errorf("spawn child: %w", err)
	}
	return nil
}
