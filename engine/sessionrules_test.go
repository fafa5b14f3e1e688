package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestSessionRules(t *testing.T) {
	s := &Session{engine: &Engine{}, mode: "default", params: StartParams{AllowedTools: []string{"Read"}}}
	update := `[
		{"type":"addRules","destination":"session","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"go *"},{"toolName":"Bash","ruleContent":"go *"}]},
		{"type":"addRules","destination":"session","behavior":"deny","rules":[{"toolName":"WebFetch"}]}]`
	if err := s.applyUpdates(json.RawMessage(update)); err != nil {
		t.Fatal(err)
	}
	seen := s.request(permission.DoorAsk, "Bash", "", "", "", nil).Session
	if want := []string{"Read", "Bash(go *)"}; !slices.Equal(seen.AllowedTools, want) {
		t.Errorf("allowed = %q, want %q", seen.AllowedTools, want)
	}
	if want := []string{"WebFetch"}; !slices.Equal(seen.DisallowedTools, want) {
		t.Errorf("disallowed = %q, want %q", seen.DisallowedTools, want)
	}
	if len(s.params.AllowedTools) != 1 {
		t.Errorf("the parameters of the start changed: %q", s.params.AllowedTools)
	}
}

func TestSessionRulesAreBounded(t *testing.T) {
	var rules []string
	for i := range maxSessionRules + 1 {
		rules = append(rules, fmt.Sprintf(`{"toolName":"T%d"}`, i))
	}
	s := &Session{mode: "default"}
	update := `[{"type":"addRules","destination":"session","behavior":"allow","rules":[` + strings.Join(rules, ",") + `]}]`
	if err := s.applyUpdates(json.RawMessage(update)); CodeOf(err) != Limit || len(s.rules.allow) != 0 {
		t.Errorf("error %v, %d rules kept; want LIMIT and none", err, len(s.rules.allow))
	}
}
