package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/filter" // makes this program the filter where it is started under that name
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

// filterSpec says what the filter covers: what policies say of the output of
// Bash on its way to the model, as it is when a process of a session starts.
func (s *settings) filterSpec(redactor *policy.Redactor, env environment) func(context.Context, *event.Origin) (string, error) {
	variables := s.coveredVariables(env)
	return func(ctx context.Context, o *event.Origin) (string, error) {
		spec, err := redactor.Spec(ctx, event.Payload{Origin: o, Sink: event.SinkModel, Kind: event.ToolResult, Tool: "Bash"})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(filter.Spec{Spec: spec, Variables: variables})
		return string(text), err
	}
}

// vendorSpec is a plan that covers the vendor formats.
func vendorSpec(context.Context, *event.Origin) (string, error) {
	text, err := json.Marshal(filter.Spec{})
	return string(text), err
}

// coveredVariables are the names of the variables whose values are covered, by
// the names they are told as.
func (s *settings) coveredVariables(env environment) map[string]string {
	names := map[string]string{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(s.servers.withheld, name) { // it is not in the session's environment
			continue
		}
		if told := variableKind(name); s.redaction.options.Values[told] != "" {
			names[told] = name
		}
	}
	return names
}
