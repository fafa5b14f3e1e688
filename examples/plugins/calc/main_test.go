package main

import (
	"encoding/json"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

func TestToolsCall(t *testing.T) {
	tests := []struct{ tool, a, b, text string }{
		{"add", "2", "0.5", "2.5"},
		{"subtract", "2", "3", "-1"},
		{"multiply", "-4", "2.5", "-10"},
		{"divide", "1", "8", "0.125"},
	}
	for _, tt := range tests {
		if text, isError := use(t, tt.tool, tt.a, tt.b); text != tt.text || isError {
			t.Errorf("%s %s %s: %q, error %v", tt.tool, tt.a, tt.b, text, isError)
		}
	}
	if text, isError := use(t, "divide", "1", "0"); text != "division by zero" || !isError {
		t.Errorf("divide by 0: %q, error %v", text, isError)
	}
	if _, isError := use(t, "add", "1", `"x"`); !isError {
		t.Error("a text was added")
	}
}

func use(t *testing.T, tool, a, b string) (text string, isError bool) {
	t.Helper()
	call := pdk.Test(t, `{"hook": "tools_call", "tool": "`+tool+`", "arguments": {"a": `+a+`, "b": `+b+`}}`, toolsCall)
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal([]byte(call.Output), &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("%s: %v", call.Output, err)
	}
	return result.Content[0].Text, result.IsError
}

func TestToolsList(t *testing.T) {
	var list struct{ Tools []struct{ Name string } }
	call := pdk.Test(t, `{"hook": "tools_list"}`, toolsList)
	if err := json.Unmarshal([]byte(call.Output), &list); err != nil || len(list.Tools) != 4 {
		t.Errorf("%s: %v", call.Output, err)
	}
	var fake pdk.Fake
	if fake.Call(`{"tool": "power", "arguments": {"a": 1, "b": 1}}`, toolsCall).Err == nil {
		t.Error("a tool that is not listed answers")
	}
}
