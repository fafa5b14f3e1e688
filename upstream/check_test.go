package upstream

import (
	"strings"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	some := map[string]Source{"TOKEN": is("x")}
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Name: "a-b_c", Command: []string{"/bin/x"}, Env: some}, ""},
		{Config{Name: "a", URL: "https://example.invalid/mcp", Headers: some}, ""},
		{Config{Name: "a", URL: "http://127.0.0.1:1"}, ""},
		{Config{Name: "a", URL: "http://[::1]:1"}, ""},
		{Config{Command: []string{"/bin/x"}}, "Name"},
		{Config{Name: "a__b", Command: []string{"/bin/x"}}, "Name"},
		{Config{Name: "_a", Command: []string{"/bin/x"}}, "Name"},
		{Config{Name: "a"}, "one of the two is needed"},
		{Config{Name: "a", Command: []string{"/bin/x"}, URL: "https://x"}, "only one"},
		{Config{Name: "a", Command: []string{"x"}}, "no absolute path"},
		{Config{Name: "a", Command: []string{"/x", "a\x00"}}, "zero byte"},
		{Config{Name: "a", Command: []string{"/x"}, Dir: "here"}, "Dir"},
		{Config{Name: "a", Command: []string{"/x"}, Headers: some}, "Headers"},
		{Config{Name: "a", Command: []string{"/x"}, Env: map[string]Source{"A=B": is("x")}}, "Env"},
		{Config{Name: "a", Command: []string{"/x"}, Env: map[string]Source{"A": nil}}, "no source"},
		{Config{Name: "a", Command: []string{"/x"}, Env: map[string]Source{"GATEHOUSE_X": is("x")}}, "GATEHOUSE_"},
		{Config{Name: "a", Command: []string{"/x"}, Tools: []string{}}, "Tools"},
		{Config{Name: "a", Command: []string{"/x"}, Tools: []string{"a b"}}, "Tools"},
		{Config{Name: "a", Command: []string{"/x"}, Timeout: -1}, "Timeout"},
		{Config{Name: "a", Command: []string{"/x"}, IdleTimeout: 25 * time.Hour}, "IdleTimeout"},
		{Config{Name: "a", Command: []string{"/x"}, Secrets: []Source{nil}}, "Secrets"},
		{Config{Name: "a", URL: "http://example.invalid"}, "https, or http to a loopback"},
		{Config{Name: "a", URL: "https://user:" + "hunter2@example.invalid"}, "use a header"},
		{Config{Name: "a", URL: "https://"}, "no host"},
		{Config{Name: "a", URL: "https://x/#y"}, "#"},
		{Config{Name: "a", URL: ":hunter2"}, "cannot be read"},
		{Config{Name: "a", URL: "https://x", Env: some}, "Env"},
		{Config{Name: "a", URL: "https://x", Dir: "/"}, "Dir"},
		{Config{Name: "a", URL: "https://x", Headers: map[string]Source{"host": is("x")}}, "Host is set by the protocol"},
		{Config{Name: "a", URL: "https://x", Headers: map[string]Source{"mcp-session-id": is("x")}}, "set by the protocol"},
		{Config{Name: "a", URL: "https://x", Headers: map[string]Source{"a b": is("x")}}, "no name of a header"},
	} {
		_, err := Open(tt.c, Options{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.c, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%s %s: %v, want %q in it", tt.c.Command, tt.c.URL, err, tt.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "ac", true},
		{"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false}, {"ab*ba", "aba", false}, {"**", "x", true},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s of %s: %v", tt.name, tt.pattern, got)
		}
	}
}
