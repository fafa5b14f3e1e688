package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// Processes that could not be ended are told in the session's events, in the audit
// log and in the log.
func TestProcessesLeftAreTold(t *testing.T) {
	log, lines := &fakeLog{}, &bytes.Buffer{}
	s := aSession(t, log, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(lines, nil)) }).session
	s.tellLeft(fmt.Errorf("stop session x: %w: 1 could not be ended: pid 4711", cli.ErrLeft))
	var notice struct{ Type, Message string }
	for _, e := range s.Events(new(int64), 100).Events {
		if e.Type == "notice" {
			if err := json.Unmarshal(e.Data, &notice); err != nil {
				t.Fatal(err)
			}
		}
	}
	if notice.Type != "processes_left" || !strings.Contains(notice.Message, "pid 4711") {
		t.Errorf("notice %+v", notice)
	}
	if found := log.of(audit.Limit); len(found) != 1 || !strings.Contains(string(found[0].Detail), "pid 4711") {
		t.Errorf("audit: %+v", found)
	}
	if !strings.Contains(lines.String(), "pid 4711") {
		t.Errorf("log: %s", lines)
	}
}
