package mpmserver

import (
	"encoding/json"
	"slices"
	"testing"
)

// The tables of parameters: kind, required, default.
var parameters = map[string]map[string]string{
	"mpm_session_start":    {"prompt": "string!", "working_directory": "string", "no_hooks": "boolean=false", "no_tickets": "boolean=false", "timeout": "number"},
	"mpm_session_continue": {"session_id": "string!", "prompt": "string!", "fork": "boolean=false", "timeout": "number"},
	"mpm_session_status":   {"session_id": "string!"},
	"mpm_session_list":     {"status": "string"},
	"mpm_session_stop":     {"session_id": "string!", "force": "boolean=false"},
}

func TestSchemas(t *testing.T) {
	tools := Tools(Options{})
	if len(tools) != len(parameters) {
		t.Fatalf("%d tools", len(tools))
	}
	for _, tool := range tools {
		var s struct {
			Type                 string
			AdditionalProperties *bool
			Required             []string
			Properties           map[string]struct {
				Type    string
				Default any
				Enum    []string
			}
		}
		if err := json.Unmarshal(tool.Input, &s); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s: takes more than it names", tool.Name)
		}
		got := map[string]string{}
		for name, p := range s.Properties {
			got[name] = p.Type
			if slices.Contains(s.Required, name) {
				got[name] += "!"
			}
			if p.Default == false {
				got[name] += "=false"
			}
			if name == "status" && !slices.Equal(p.Enum, statuses) {
				t.Errorf("%s: enum %v", tool.Name, p.Enum)
			}
		}
		if want := parameters[tool.Name]; encoded(t, got) != encoded(t, want) {
			t.Errorf("%s: parameters %v, want %v", tool.Name, got, want)
		}
	}
}

func TestToolList(t *testing.T) {
	r := serve(t, setup{scenario: `{}`})
	list, err := r.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, tool := range list.Tools {
		if parameters[tool.Name] == nil {
			continue
		}
		size += len(encoded(t, tool))
		reads := tool.Name == "mpm_session_status" || tool.Name == "mpm_session_list"
		if a := tool.Annotations; a == nil || a.ReadOnlyHint != reads || a.DestructiveHint == nil || *a.DestructiveHint == reads {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if tool.OutputSchema != nil {
			t.Errorf("%s: answers are text only", tool.Name)
		}
	}
	if size == 0 || size > 4500 {
		t.Errorf("the tools have %d bytes in tools/list, every client's context pays for them", size)
	}
}
