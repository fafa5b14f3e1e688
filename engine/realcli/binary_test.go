package realcli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// binaries is the folder the built command lies in; TestMain removes it.
var binaries string

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "gatehouse-real-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(binaries)
	os.Exit(code)
}

// gatehouse builds the command once.
var gatehouse = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "gatehouse.exe")
	out, err := exec.Command("go", "build", "-o", path, "github.com/gatehouse-mcp/gatehouse/cmd/gatehouse").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// command prepares the built binary in the lab's world.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	l.Helper()
	path, err := gatehouse()
	if err != nil {
		l.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = l.project
	cmd.Env = l.environ()
	return cmd
}

func TestMcpClientCompletesASession(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo hello > made.txt"), fakeapi.Say("all done"))
	l.file("~/gatehouse.toml", fmt.Sprintf("[cli]\nexecutable = %q\n\n[workspace]\nroots = [%q]\n", l.cli, l.project))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var stderr bytes.Buffer
	cmd := l.command(ctx, "serve", "--config", filepath.Join(l.home, "gatehouse.toml"))
	cmd.Stderr = &stderr
	client, err := mcp.NewClient(&mcp.Implementation{Name: "realcli", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("connect: %v: %s", err, stderr.String())
	}
	c := &mcpCalls{lab: l, ctx: ctx, client: client}
	id := c.call("claude_code", object{"prompt": "make a file", "cwd": l.project}).SessionID
	asked, last := 0, poll{}
	for ctx.Err() == nil && last.Status != "idle" {
		last = c.call("claude_code_check", object{"action": "poll", "sessionId": id, "waitMs": 5000, "responseMode": "full"})
		for _, a := range last.Actions {
			asked++
			c.call("claude_code_check", object{"action": "respond_permission", "sessionId": id, "requestId": a.RequestID, "decision": "allow"})
		}
	}
	if got, err := os.ReadFile(l.path("made.txt")); asked != 1 || err != nil || strings.TrimSpace(string(got)) != "hello" {
		t.Errorf("asked %d times, file %q %v; last answer %s; stderr %s", asked, got, err, last.raw, stderr.String())
	}
	if !strings.Contains(string(last.raw), "all done") {
		t.Errorf("last answer %s, want the result", last.raw)
	}
	if err := client.Close(); err != nil {
		t.Errorf("close: %v: %s", err, stderr.String())
	}
}

// poll is what the test looks at in an answer.
type poll struct {
	SessionID string `json:"sessionId"`
	Status    string `json:"status"`
	Actions   []struct {
		RequestID string `json:"requestId"`
	} `json:"actions"`
	raw json.RawMessage
}

type mcpCalls struct {
	*lab
	ctx    context.Context
	client *mcp.ClientSession
}

func (c *mcpCalls) call(tool string, arguments object) poll {
	c.Helper()
	result, err := c.client.CallTool(c.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	var p poll
	if p.raw, err = json.Marshal(result.StructuredContent); err != nil {
		c.Fatal(err)
	}
	if result.IsError {
		c.Fatalf("%s %v: %s", tool, arguments, p.raw)
	}
	if err := json.Unmarshal(p.raw, &p); err != nil {
		c.Fatalf("%s: %v: %s", tool, err, p.raw)
	}
	return p
}

func TestRunAsksOnStdin(t *testing.T) {
	for _, tt := range []struct {
		answer string
		ran    bool
	}{{"allow", true}, {"deny not now", false}} {
		t.Run(tt.answer, func(t *testing.T) {
			l := newLab(t)
			l.serve(bash("echo hello > made.txt"), fakeapi.Say("all done"))
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cmd := l.command(ctx, "run", "--cli", l.cli, "--on-ask", "stdin", "make a file")
			cmd.Stdin = strings.NewReader(tt.answer + "\n")
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("run: %v: %s", err, out)
			}
			if exists(l.path("made.txt")) != tt.ran || !strings.Contains(string(out), "all done") {
				t.Errorf("file there %v, want %v; output:\n%s", exists(l.path("made.txt")), tt.ran, out)
			}
		})
	}
}
