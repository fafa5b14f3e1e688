package mcpserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// TestReplyToAStoppedSession: a stop holds for replies, but for one with the token.
func TestReplyToAStoppedSession(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(scenario, []byte(`{"turns":[[{"text":"one"}]],"resume_turns":[[{"text":"more"}]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	eng, err := engine.New(engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", scenario}, Roots: []string{root}, TempDir: t.TempDir(),
		Deciders: []permission.Decider{rules{}}, Admission: []admission.Decider{&admitter{}},
		DiskResume: true, ResumeSecret: "a secret of this test", StateDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	t.Cleanup(func() { eng.Close(context.Background()) })
	c := connect(t, eng, nil)
	a := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000}`)
	id, token := a["sessionId"].(string), a["resumeToken"].(string)
	for _, more := range []string{`,"waitMs":20000`, `,"timeout":60000`} {
		s, err := eng.Session(id)
		if err != nil {
			t.Fatal(err)
		}
		for s.Info().State.Busy() {
			time.Sleep(time.Millisecond)
		}
		if err := s.Stop(ctx, engine.StopParams{Reason: "Session stopped", Source: "test"}); err != nil {
			t.Fatal(err)
		}
		refused, isError := use(t, c, "claude_code_reply", fmt.Sprintf(`{"sessionId":%q,"prompt":"more"%s}`, id, more))
		if text := fmt.Sprint(refused); !isError || !strings.Contains(text, "CANCELLED") || !strings.Contains(text, "was stopped") {
			t.Errorf("a reply without a token: %s", text)
		}
		a = must(t, c, "claude_code_reply", fmt.Sprintf(`{"sessionId":%q,"prompt":"more","resumeToken":%q,"cwd":%q%s}`, id, token, root, more))
		if a["sessionId"] != id {
			t.Errorf("a reply with the token: %v", a)
		}
	}
}
