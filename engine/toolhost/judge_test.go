package toolhost

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// judge decides as the options say.
type judge struct {
	options
	bench *workbench
	out   *printer
}

func (j judge) admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action == admission.McpServer && r.Server.Name == j.leaveOut {
		return permission.Decision{Effect: permission.Deny, Rule: "test.server", Reason: "the test leaves it out"}, nil
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
}

func (j judge) gate(ctx context.Context, r permission.Request) (permission.Decision, error) {
	if r.Tool == j.denyLate {
		select {
		case <-j.bench.slow:
		case <-ctx.Done():
		}
	}
	if r.Tool == j.deny || r.Tool == j.denyLate {
		return permission.Decision{Effect: permission.Deny, Rule: "test.gate", Reason: "the test denies it"}, nil
	}
	if tool, input, ok := strings.Cut(j.change, "="); ok && tool == r.Tool {
		return permission.Decision{Effect: permission.Modify, Rule: "test.change", UpdatedInput: json.RawMessage(input)}, nil
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.gate"}, nil
}

// judgement is what is printed of one.
type judgement struct {
	Phase   string          `json:"phase"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	ID      string          `json:"id"`
	Passed  string          `json:"passed"` // the gate's rule; empty: it did not pass
	Input   json.RawMessage `json:"input,omitempty"`
	Failed  bool            `json:"failed"`
	Blocks  []string        `json:"blocks,omitempty"`
	Shape   string          `json:"shape,omitempty"`
	Session string          `json:"session,omitempty"`
}

// longInput is what is not printed any more.
const longInput = 500

func (j judge) inproc(ctx context.Context, r permission.InprocRequest) permission.Decision {
	told := judgement{Phase: r.Phase, Server: r.Server, Tool: r.Call.Tool, ID: r.Call.ToolUseID, Passed: r.Passed.Rule,
		Failed: r.Result.IsError, Blocks: r.Result.Blocks, Shape: r.Result.JSONShape}
	if len(r.Call.Input) < longInput {
		told.Input = r.Call.Input
	}
	line, err := json.Marshal(told)
	if err != nil {
		line = []byte(err.Error())
	}
	j.out.print("judged %s", line)
	which := r.Phase + ":" + r.Call.Tool
	if which == j.panics {
		panic("the test panics")
	}
	if r.Phase == permission.PhaseCall && r.Call.Tool == j.stalls {
		<-ctx.Done()
	}
	if which == j.refuse {
		return permission.Decision{Effect: permission.Deny, Rule: "test.inproc", Reason: "the test refuses it"}
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.inproc"}
}
