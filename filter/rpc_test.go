//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// answers runs an MCP server that prints a text.
func answers(t *testing.T, text string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return result(t, filtered(t, "cat '"+file+"'", append([]string{ModeVariable + "=mcp:notes"}, env...)...))
}

func TestMessages(t *testing.T) {
	handshake := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}` + "\n"
	tools := `{"jsonrpc": "2.0", "id": "a", "result": {"tools":[{"name":"keep","inputSchema":{"type":"object","properties":{"k":{"type":"string","pattern":"^gh` + `p_[A-Za-z0-9]{36}$"}}}}]}}` + "\r\n"
	for _, tt := range []struct{ name, in, want string }{
		{"handshake", handshake, handshake},
		{"tools", tools, tools},
		{"result", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"k ` + fake + `"}],"isError":true}}` + "\n",
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"k ` + covered + `"}],"isError":true}}` + "\n"},
		{"error", `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"` + fake + `"}}` + "\n",
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"` + covered + `"}}` + "\n"},
		{"escaped", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\u0067` + fake[1:] + `"}]}}` + "\n",
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + covered + `"}]}}` + "\n"},
		{"no newline at the end", `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","method":"x"}`},
		{"text between", "starting " + fake + "\n" + handshake, "starting " + covered + "\n" + handshake},
		{"a key in text between", keyBegin + keyLine + handshake + keyLine + keyEnd, handshake + "[REDACTED:private-key]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if stdout, stderr, code := answers(t, tt.in); stdout != tt.want || stderr != "" || code != 0 {
				t.Errorf("stdout %q, stderr %q, code %d; want %q", stdout, stderr, code, tt.want)
			}
		})
	}
}

// Edits of policies reach what tools answer, and nothing of the handshake.
func TestMessagesAreEdited(t *testing.T) {
	spec := planned(`{"options":{},"edits":[{"select":{"tools":["mcp__notes__*"]},"action":"replace","with":"covered","rule":"test.rule"}]}`)
	tools := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"keep","description":"keeps"}]}}` + "\n"
	stdout, stderr, _ := answers(t, tools+`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"words"}]}}`+"\n", spec...)
	if !strings.HasPrefix(stdout, tools) || strings.Contains(stdout, "words") || !strings.Contains(stdout, `"type":"text"`) || !strings.Contains(stdout, `"id":2`) {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

// A message that is too long to be looked at ends the server.
func TestMessageTooLong(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", maxLine) + `"}]}}` + "\n"
	stdout, stderr, code := answers(t, line+"after\n")
	if stdout != "" || code == 0 || !strings.Contains(stderr, `the MCP server "notes" was ended: it sent a message of more than 16777216 bytes`) {
		t.Errorf("%d bytes passed, code %d, stderr %q", len(stdout), code, stderr)
	}
}

func TestServerArguments(t *testing.T) {
	stdout, _, code := result(t, filtered(t, `printf '%s\n' 'a b' 'it'"'"'s' '$HOME' plain`, ModeVariable+"=mcp:x"))
	if stdout != "a b\nit's\n$HOME\nplain\n" || code != 0 {
		t.Errorf("stdout %q, code %d", stdout, code)
	}
}

// What a server said before a message that is too long is not lost with it.
func TestMessagesBeforeTheOneThatIsTooLong(t *testing.T) {
	f := &filter{isMCP: true}
	f.plan = &redact.Plan{}
	m, err := f.newMessages()
	if err != nil {
		t.Fatal(err)
	}
	first := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	out, err := m.cover([]byte(first + strings.Repeat("x", maxLine+1)))
	if err == nil || string(out) != first {
		t.Errorf("got %q, %v; want the first message and an error", out, err)
	}
}
