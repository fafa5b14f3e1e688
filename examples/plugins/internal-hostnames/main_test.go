package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

type edit struct {
	Path, Op   string
	Start, End int
}

func edits(t *testing.T, payload string) []edit {
	t.Helper()
	call := pdk.Test(t, `{"hook": "redact", "config": {"domains": ["corp.example", "lan"]}, "payload": `+payload+`}`, redact)
	var out struct{ Edits []edit }
	if call.Output != "" {
		if err := json.Unmarshal([]byte(call.Output), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out.Edits
}

func TestRedact(t *testing.T) {
	tests := []struct{ name, text, masked string }{
		{"none", "see www.example.com", "see www.example.com"},
		{"one", "ssh db1.corp.example now", "ssh * now"},
		{"case and port", "DB1.Corp.Example:5432", "*:5432"},
		{"end of a sentence", "It runs on a.b.lan.", "It runs on *."},
		{"two", "db1.lan,db2.lan", "*,*"},
		{"another domain", "db1.corp.example.com", "db1.corp.example.com"},
		{"the domain itself", "corp.example", "corp.example"},
		{"part of a label", "mycorp.example", "mycorp.example"},
		{"after other letters", "härte.lan db.lan", "hä* *"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			masked := tt.text
			list := edits(t, `{"text": `+pdk.Quote(tt.text)+`}`)
			for i := len(list) - 1; i >= 0; i-- {
				e := list[i]
				if e.Path != "/text" || e.Op != "mask" {
					t.Fatalf("edit %+v", e)
				}
				masked = masked[:e.Start] + "*" + masked[e.End:]
			}
			if masked != tt.masked {
				t.Errorf("%q, want %q", masked, tt.masked)
			}
		})
	}
}

func TestRedactEverywhere(t *testing.T) {
	list := edits(t, `{"a/b": ["x", {"deep": "db.lan"}], "n": 1}`)
	if len(list) != 1 || list[0].Path != "/a~1b/1/deep" {
		t.Errorf("%+v", list)
	}
	if list := edits(t, `"db.lan"`); len(list) != 1 || list[0].Path != "" {
		t.Errorf("a payload that is a string: %+v", list)
	}
	list = edits(t, `{"hosts": `+pdk.Quote(strings.Repeat("db.lan ", maxMasks+1))+`}`)
	if len(list) != 1 || list[0].Op != "replace" {
		t.Errorf("many names in a text: %d edits", len(list))
	}
}
