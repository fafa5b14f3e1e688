package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestAllow(t *testing.T) {
	all := []admission.Action{admission.Start, admission.Reply, admission.McpServer}
	outside := []admission.Dir{{Path: "/w/x", Inside: true}, {Path: "/etc"}}
	server := func(source string) admission.Request {
		return admission.Request{Action: admission.McpServer, Server: admission.Server{Name: "n", Source: source}}
	}
	for _, row := range []struct {
		name    string
		actions []admission.Action
		r       admission.Request
		want    permission.Effect
	}{
		{"nothing is listed", nil, admission.Request{Action: admission.Start, CwdInsideRoots: true}, permission.Deny},
		{"start", all, admission.Request{Action: admission.Start, CwdInsideRoots: true}, permission.Allow},
		{"start outside", all, admission.Request{Action: admission.Start}, permission.Deny},
		{"start with a folder outside", all, admission.Request{Action: admission.Start, CwdInsideRoots: true, AdditionalDirs: outside}, permission.Deny},
		{"reply", all, admission.Request{Action: admission.Reply}, permission.Allow},
		{"reply with a folder outside", all, admission.Request{Action: admission.Reply, AdditionalDirs: outside}, permission.Deny},
		{"another action", all, admission.Request{Action: admission.Cancel}, permission.Deny},
		{"own server", all, server("gatehouse"), permission.Allow},
		{"a plugin's server", all, server("plugin"), permission.Allow},
		{"a repository's server", all, server("project"), permission.Deny},
		{"the owner's server", all, server("user"), permission.Deny},
		{"a server of nobody", all, server(""), permission.Deny},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, err := admission.Allow(row.actions...).Admit(t.Context(), row.r)
			if err != nil || d.Effect != row.want || d.Rule != "go.allow" || (d.Reason == "") != (row.want == permission.Allow) {
				t.Errorf("got %s by %s (%s), %v, want %s", d.Effect, d.Rule, d.Reason, err, row.want)
			}
		})
	}
}

// TestAllowKeepsItsList: what the caller does to its slice later changes nothing.
func TestAllowKeepsItsList(t *testing.T) {
	actions := []admission.Action{admission.List}
	d := admission.Allow(actions...)
	actions[0] = admission.Cancel
	if got, _ := d.Admit(t.Context(), admission.Request{Action: admission.Cancel}); got.Effect != permission.Deny {
		t.Errorf("a changed list admits %s", got.Effect)
	}
}

func TestDeciderFunc(t *testing.T) {
	f := admission.DeciderFunc(func(context.Context, admission.Request) (permission.Decision, error) {
		return permission.Decision{Effect: permission.Allow}, errors.New("late")
	})
	if d, err := f.Admit(t.Context(), admission.Request{}); err == nil || d.Rule != permission.FuncRule {
		t.Errorf("got %+v, %v", d, err)
	}
}
