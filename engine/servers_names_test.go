package engine

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestServerNames(t *testing.T) {
	for _, row := range []struct {
		name   string
		own    []string
		caller string
		want   []string
	}{
		{"none", nil, "", []string{}},
		{"the owner's and the caller's", []string{"web", "my notes"}, `{"tracker":{},"web":{}}`, []string{"my_notes", "tracker", "web"}},
		{"no object", nil, `null`, []string{}},
	} {
		s := &Session{params: StartParams{McpServers: json.RawMessage(row.caller)}}
		for _, name := range row.own {
			s.servers = append(s.servers, ownServer{name: name})
		}
		if got := s.serverNames(); got == nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: got %#v, want %#v", row.name, got, row.want)
		}
	}
}
