package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// marshal encodes a frame and its newline; <, > and & stay as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// frame adds what every frame but control frames has.
func (p *process) frame(m map[string]any) map[string]any {
	m["session_id"], m["uuid"] = p.session, newUUID()
	return m
}

func (p *process) system(subtype string, fields map[string]any) {
	fields["type"], fields["subtype"] = "system", subtype
	p.send(p.frame(fields))
}

// toolNames is the list of a fresh session; "Task" is the Agent tool.
var toolNames = []string{
	"Task", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "NotebookEdit", "Read",
	"SendMessage", "Skill", "TaskCreate", "TaskGet", "TaskList", "TaskStop", "WebFetch", "WebSearch", "Write",
}

func (p *process) sendInit() {
	tools := []string{}
	for _, t := range toolNames {
		if !p.opt.hidden(t) {
			tools = append(tools, t)
		}
	}
	more, servers := p.offered()
	tools = append(tools, more...)
	p.mu.Lock()
	mode, model := p.mode, p.model
	p.mu.Unlock()
	p.system("init", map[string]any{
		"cwd": p.cwd, "tools": tools, "mcp_servers": servers, "model": model, "permissionMode": mode,
		"slash_commands": []string{"compact", "cost"}, "apiKeySource": "none", "claude_code_version": p.sc.version(),
		"output_style": "default", "agents": []string{"general-purpose"}, "skills": []string{}, "plugins": []any{},
	})
}

func (p *process) sendStatus(mode string) {
	p.system("status", map[string]any{"status": nil, "permissionMode": mode})
}

// assistant sends one frame for one content block.
func (p *process) assistant(a *actor, block map[string]any) {
	p.mu.Lock()
	model := p.model
	p.mu.Unlock()
	m := a.fields(map[string]any{
		"type": "assistant",
		"message": map[string]any{
			"id": a.t.messageID, "type": "message", "role": "assistant", "model": model,
			"content": []any{block}, "stop_reason": nil, "stop_sequence": nil, "usage": usage(1),
		},
	})
	p.send(p.frame(m))
}

// user sends a user frame; toolUseResult may be nil.
func (p *process) user(a *actor, block map[string]any, toolUseResult any) {
	m := a.fields(map[string]any{
		"type":      "user",
		"message":   map[string]any{"role": "user", "content": []any{block}},
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	if toolUseResult != nil && a.agentID == "" {
		m["tool_use_result"] = toolUseResult // missing inside sub-agents
	}
	p.send(p.frame(m))
}

func textBlock(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

func usage(calls int) map[string]any {
	return map[string]any{
		"input_tokens": 100 * calls, "output_tokens": 20 * calls,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

// transcriptPath is where the real CLI would keep the session; nothing is written.
func (p *process) transcriptPath() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	slug := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, p.cwd)
	return filepath.Join(home, ".claude", "projects", slug, p.session+".jsonl")
}

// expand replaces ${CWD} and ${PROMPT} in every string of a JSON value.
func (p *process) expand(t *turn, v any) any {
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("${CWD}", p.cwd, "${PROMPT}", t.prompt).Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.expand(t, v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = p.expand(t, v[k])
		}
		return out
	}
	return v
}

func (p *process) text(t *turn, s string) string { return p.expand(t, s).(string) }

// newMessage begins another reply of the model.
func (p *process) newMessage(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages++
	t.messageID = fmt.Sprintf("msg_script_%04d", p.messages)
}

func after(ms int) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { close(c) })
	return c
}
