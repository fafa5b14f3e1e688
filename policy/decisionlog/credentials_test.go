package decisionlog

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestCoverText(t *testing.T) {
	const c = withheldCredential
	for _, test := range []struct{ text, want string }{
		{"curl https://bob:pw@example.com/x", "curl https://bob:" + c + "@example.com/x"},
		{"git clone https://tokentoken@example.com/r.git", "git clone https://" + c + "@example.com/r.git"},
		{"psql postgres://u:p@ss@db/x", "psql postgres://u:" + c + "@db/x"},
		{"psql postgres://u:p/ss@db/x", "psql postgres://u:" + c + "@db/x"},
		{"redis://:pw@h", "redis://:" + c + "@h"},
		{"curl -u bob:pw x", "curl -u " + c + " x"},
		{"curl -ubob:pw x", "curl -u" + c + " x"},
		{"curl --user='bob:pw' x", "curl --user='" + c + "' x"},
		{"wget --password=hunter2 x", "wget --password=" + c + " x"},
		{"tool --api-key hunter2", "tool --api-key " + c},
		{"PGPASSWORD=hunter2 psql", "PGPASSWORD=" + c + " psql"},
		{"Server=db;Password=hunter2;X=1", "Server=db;Password=" + c + ";X=1"},
		{`curl -H "Authorization: Bearer abc" x`, `curl -H "Authorization: Bearer ` + c + `" x`},

		{"git clone ssh://git@example.com/r", ""},
		{"npm view http://host:80/@scope/p", ""},
		{"docker run -u 1000:1000 x", ""},
		{"git push -u origin main", ""},
		{"curl https://example.com/a?b=c", ""},
		{"tool --token $TOKEN", ""},
		{"mail bob@example.com", ""},
	} {
		want := test.want
		if want == "" {
			want = test.text
		}
		got := coverText(test.text)
		if got != want {
			t.Errorf("%s became %s, want %s", test.text, got, want)
		}
		if again := coverText(got); again != got {
			t.Errorf("a second pass made %s of %s", again, got)
		}
	}
}

// A word of a command stands in the facts by itself, without the option before it.
func TestCopiesOfCredentialsAreCovered(t *testing.T) {
	l := open(t, Options{})
	e := entry("a", `{"tool":{"name":"Bash","input":{"command":"curl -u bob:pw x --password deny"}},`+
		`"bash":{"commands":[{"args":[{"value":"bob:pw"},{"value":"deny"},{"value":"x"}]}]}}`)
	e.Result = map[string]any{"effect": "deny", "reason": "no curl -u bob:pw"}
	l.Record(e)
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if strings.Contains(text, "bob:pw") || len(all) != 1 {
		t.Fatalf("%s", text)
	}
	if masked := strings.Join(all[0].Masked, " "); !strings.Contains(masked, "/input/bash/commands/0/args/0/value") || strings.Contains(masked, "args/2") {
		t.Errorf("masked %s", masked)
	}
	if !strings.Contains(string(all[0].Result), `"effect":"deny"`) || !strings.Contains(string(all[0].Input), `"name":"Bash"`) {
		t.Errorf("what is none of the call's was changed: %s", text)
	}
}

// A name can be the secret: it must not come back as a pointer.
func TestSecretNamesStandInNoPointer(t *testing.T) {
	secret := "AKIA" + strings.Repeat("Q7", 8)
	l := open(t, Options{})
	e := entry("a", `{"parameters":{"env.`+secret+`":"x","env.B":"y"},"n":{"https://u:pw123@h":1,"`+secret+`":"`+secret+`"}}`)
	e.Hide = []string{"/input/parameters/env." + secret, "/input/parameters/env.B", "/input/n/https:~1~1u:pw123@h"}
	e.Custom = map[string]any{"note": ""}
	e.Mask = func(context.Context, json.RawMessage) ([]MaskOp, error) {
		return []MaskOp{{Path: "/input/n"}, {Op: "upsert", Path: "/custom/note", Value: secret}}, nil
	}
	l.Record(e)
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if len(all) != 1 || strings.Contains(text, secret) || strings.Contains(text, "pw123") {
		t.Fatalf("%s", text)
	}
	masked := strings.Join(all[0].Masked, " ")
	if !strings.Contains(masked, "/input/parameters/env.[REDACTED:aws]") || !strings.Contains(masked, "/input/parameters/env.B") ||
		!strings.Contains(masked, "/custom/note") || strings.Contains(masked, "/masked") || strings.Contains(masked, "/erased") {
		t.Errorf("masked %s", masked)
	}
	if strings.Join(all[0].Erased, " ") != "/input/n" {
		t.Errorf("erased %v", all[0].Erased)
	}
}

// What a mask could have named does not outlive a mask that failed.
func TestFailedMaskLeavesNothing(t *testing.T) {
	const private = "the private thing"
	l := open(t, Options{})
	e := entry("a", `{"x":"`+private+`"}`)
	e.RequestedBy, e.RuleLabels = private, []map[string]string{{"x": private}}
	e.Error = &Failure{Code: "engine.error", Message: private}
	e.Custom = map[string]any{"asked": private}
	e.Mask = func(context.Context, json.RawMessage) ([]MaskOp, error) { return nil, errors.New(private) }
	l.Record(e)
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if len(all) != 1 || strings.Contains(text, private) || all[0].Custom["stripped"] == nil {
		t.Errorf("%s", text)
	}
	if got := strings.Join(all[0].Erased, " "); got != "/input /result /rule_labels /error /requested_by /custom" {
		t.Errorf("erased %s", got)
	}
}

func TestReplace(t *testing.T) {
	l := open(t, Options{})
	e := entry("a", `{"args":["--token","x"]}`)
	e.Replace = []MaskOp{{Op: "upsert", Path: "/input/args", Value: []any{"-", "-"}}}
	l.Record(e)
	closeLog(t, l)
	if all, text := events(t, l.options.Folder); len(all) != 1 || string(all[0].Input) != `{"args":["-","-"]}` || all[0].Masked[0] != "/input/args" {
		t.Errorf("%s", text)
	}
}
