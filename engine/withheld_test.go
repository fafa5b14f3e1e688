package engine

import (
	"slices"
	"testing"
)

func TestWithheldVariables(t *testing.T) {
	e := &Engine{o: Options{
		Withheld: []string{"TICKETS_TOKEN"},
		Environ:  []string{"TICKETS_TOKEN=owner", "TICKETS_TOKEN_FILE=kept", "KEEP=1"},
	}}
	got := e.environment(map[string]string{"TICKETS_TOKEN": "caller", "CI": "1"})
	for _, kv := range []string{"TICKETS_TOKEN=owner", "TICKETS_TOKEN=caller"} {
		if slices.Contains(got, kv) {
			t.Errorf("a session gets %s", kv)
		}
	}
	for _, kv := range []string{"TICKETS_TOKEN_FILE=kept", "KEEP=1", "CI=1"} {
		if !slices.Contains(got, kv) {
			t.Errorf("a session does not get %s: %q", kv, got)
		}
	}
}

func TestServersThatSetWithheldVariables(t *testing.T) {
	s := &Session{engine: &Engine{o: Options{Withheld: []string{"TICKETS_TOKEN"}, OwnProgramServers: true}}}
	for config, want := range map[string]string{
		`{"command":"x","env":{"TICKETS_TOKEN":"y"}}`:          ruleOwnSecret,
		`{"command":"x","env":{"TICKETS_TOKEN_FILE":"y"}}`:     "",
		`{"command":"x","args":["--env","TICKETS_TOKEN"]}`:     "", // nothing is there for it
		`{"command":"x","env":{"A":"${TICKETS_TOKEN}"}}`:       "",
		`{"type":"http","url":"https://tickets.example.com/"}`: "",
	} {
		if rule, _ := s.refusesServer(startedBy([]byte(config))); rule != want {
			t.Errorf("%s: rule %q, want %q", config, rule, want)
		}
	}
}
