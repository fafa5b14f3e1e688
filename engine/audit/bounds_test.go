package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever plugins said fits into a record once it is bound, and is valid JSON.
func TestPluginsOfARecordAreBounded(t *testing.T) {
	long := strings.Repeat("\x01", 10_000)
	plugins := make([]Plugin, 200)
	for i := range plugins {
		plugins[i] = Plugin{Name: long, SHA256: long, Verdict: long, Binding: true, Error: long, Micros: 1 << 60}
	}
	for name, b := range map[string]bounds{"loose": looseBounds, "tight": tightBounds} {
		r := Record{Kind: Decision, Plugins: plugins}
		bound(&r, b)
		body, err := appendBody(nil, &r)
		if err != nil || !json.Valid([]byte("{"+string(body)+"}")) {
			t.Errorf("%s: %v, %d bytes", name, err, len(body))
		}
		if len(r.Plugins) != b.list+1 || !strings.Contains(r.Plugins[b.list].Name, "more") || len(r.Plugins[0].Error) > b.text+40 {
			t.Errorf("%s: %d plugins, an error of %d bytes", name, len(r.Plugins), len(r.Plugins[0].Error))
		}
		if name == "tight" && len(body) > maxBody {
			t.Errorf("%s: %d bytes, at most %d", name, len(body), maxBody)
		}
	}
	if len(plugins[0].Error) != len(long) {
		t.Error("what others see of the record was changed")
	}
}
