package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	_ "github.com/gatehouse-mcp/gatehouse/filter" // makes this program the filter where it is started under that name
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// filterProgram is what covers the output of commands: this program. Empty where
// it is switched off, and on Windows, which has no filter.
func (s *settings) filterProgram() string {
	if runtime.GOOS == "windows" || !s.redaction.filter {
		return ""
	}
	own, err := os.Executable()
	if err != nil {
		return "gatehouse" // no absolute path, which the engine refuses with the reason
	}
	return own
}

// filterSpec says what the filter covers in a session: what the policies in force
// say about the output of a command for the model.
func filterSpec(r *policy.Redactor) func(context.Context, *event.Origin) (string, error) {
	return func(ctx context.Context, o *event.Origin) (string, error) {
		spec, err := r.Spec(ctx, event.Payload{Origin: o, Sink: event.SinkModel, Kind: event.ToolResult, Tool: "Bash"})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(spec)
		return string(text), err
	}
}
