package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// lagging is a stream that holds back the last byte.
type lagging struct{ held string }

func (l *lagging) Write(piece string) (string, []event.Redaction) {
	text := l.held + piece
	l.held = text[len(text)-1:]
	return text[:len(text)-1], []event.Redaction{{Detector: "seen", Count: 1}}
}

func (l *lagging) Close() (string, []event.Redaction) { return l.held, nil }

// stored is what a test's deltas stored, one line an event.
type stored struct {
	lines []string
	told  []string
	tools map[string]string
	found int
}

func (s *stored) deltas(begin func(block) (event.Stream, error)) *deltas {
	return &deltas{
		begin: begin,
		tell:  func(message string) { s.told = append(s.told, message) },
		store: func(raw, parent json.RawMessage, tool string, found []event.Redaction) {
			e := membersOf(raw)
			line := textOf(e["type"])
			for name, v := range membersOf(e["delta"]) {
				if name != "type" {
					line += fmt.Sprintf(" %s%s=%s", string(e["index"]), name, textOf(v))
				}
			}
			if s.tools == nil {
				s.tools = map[string]string{}
			}
			s.lines, s.tools[line] = append(s.lines, line), tool
			s.found += len(found)
		},
	}
}

func lag(block) (event.Stream, error) { return &lagging{}, nil }

func TestDeltas(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	piece := func(text string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
	}
	cases := map[string]struct {
		in   []string
		want string
	}{
		"rest before the stop":  {[]string{start, piece("ab"), piece("c"), `{"type":"content_block_stop","index":0}`}, "content_block_start|content_block_delta 0text=a|content_block_delta 0text=b|content_block_delta 0text=c|content_block_stop"},
		"a piece held back":     {[]string{start, piece("a"), piece("b"), `{"type":"message_stop"}`}, "content_block_start|content_block_delta 0text=a|content_block_delta 0text=b|message_stop"},
		"an empty piece":        {[]string{start, piece("")}, "content_block_start|content_block_delta 0text="},
		"no stop":               {[]string{start, piece("ab"), `{"type":"message_start"}`}, "content_block_start|content_block_delta 0text=a|content_block_delta 0text=b|message_start"},
		"begun twice":           {[]string{start, piece("ab"), start}, "content_block_start|content_block_delta 0text=a|content_block_delta 0text=b|content_block_start"},
		"no start":              {[]string{piece("ab"), `{"type":"content_block_stop","index":0}`}, "content_block_delta 0text=a|content_block_delta 0text=b|content_block_stop"},
		"a signature":           {[]string{start, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Zm"}}`}, "content_block_start|content_block_delta 0signature=Zm"},
		"a kind that is new":    {[]string{start, `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","words":"xy"}}`, `{"type":"content_block_stop","index":0}`}, "content_block_start|content_block_delta 0words=x|content_block_delta 0words=y|content_block_stop"},
		"a whole citation":      {[]string{start, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"a":1}}}`}, "content_block_start|content_block_delta 0citation="},
		"text of the beginning": {[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ab"}}`, `{"type":"content_block_stop","index":0}`}, "content_block_start|content_block_delta 0text=b|content_block_stop"},
		"others":                {[]string{`{"type":"ping"}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}, "ping|message_delta 0stop_reason=end_turn"},
	}
	for name, c := range cases {
		var s stored
		d := s.deltas(lag)
		for _, raw := range c.in {
			d.handle(json.RawMessage(raw), json.RawMessage("null"))
		}
		if got := strings.ReplaceAll(strings.Join(s.lines, "|"), " stop_reason", " 0stop_reason"); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestDeltasOfSeveralConversations(t *testing.T) {
	var s stored
	d := s.deltas(lag)
	for _, parent := range []string{"null", `"toolu_a"`} {
		d.handle(json.RawMessage(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"Tool`+parent[:1]+`a","input":{}}}`), json.RawMessage(parent))
	}
	for _, parent := range []string{"null", `"toolu_a"`} {
		d.handle(json.RawMessage(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"x`+strings.Trim(parent, `"`)+`"}}`), json.RawMessage(parent))
	}
	d.handle(json.RawMessage(`{"type":"message_stop"}`), json.RawMessage("null"))
	if len(d.blocks) != 1 || s.lines[len(s.lines)-2] != "content_block_delta 1partial_json=l" || s.tools["content_block_delta 1partial_json=l"] != "Toolna" {
		t.Errorf("%d blocks are open, stored %q", len(d.blocks), s.lines)
	}
	d.endAll(func(blockKey) bool { return true })
	if len(d.blocks) != 0 || s.lines[len(s.lines)-1] != "content_block_delta 1partial_json=a" {
		t.Errorf("%d blocks are open, stored %q", len(d.blocks), s.lines)
	}
}

func TestDeltasAreBounded(t *testing.T) {
	var s stored
	d := s.deltas(lag)
	for i := range maxBlocks + 5 {
		d.handle(json.RawMessage(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"abc"}}`, i)), nil)
	}
	if len(d.blocks) != maxBlocks || len(s.lines) != maxBlocks || len(s.told) != 1 {
		t.Errorf("%d blocks, %d events, told %q", len(d.blocks), len(s.lines), s.told)
	}
	for i := range maxBlockTexts + 2 {
		d.handle(json.RawMessage(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"d","m%d":"abc"}}`, i)), nil)
	}
	if n := len(d.blocks[blockKey{"", "0"}].texts); n != maxBlockTexts {
		t.Errorf("%d texts of one block", n)
	}
}

func TestDeltasWithoutAStream(t *testing.T) {
	raw := json.RawMessage(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"abc"}}`)
	for name, c := range map[string]struct {
		begin func(block) (event.Stream, error)
		lines int
		told  int
	}{
		"no redactor takes pieces": {func(block) (event.Stream, error) { return nil, nil }, 2, 0},
		"it cannot begin":          {func(block) (event.Stream, error) { return nil, errors.New("no") }, 0, 1},
	} {
		var s stored
		d := s.deltas(c.begin)
		d.handle(raw, nil)
		d.handle(raw, nil)
		if len(s.lines) != c.lines || len(s.told) != c.told {
			t.Errorf("%s: stored %q, told %q", name, s.lines, s.told)
		}
	}
}

func TestStreamsAreToldTheirBlock(t *testing.T) {
	var told []string
	var s stored
	d := s.deltas(func(b block) (event.Stream, error) {
		told = append(told, b.tool+string(b.beginning()))
		return &lagging{}, nil
	})
	d.handle(json.RawMessage(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"Bash","input":{}}}`), nil)
	d.handle(json.RawMessage(`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}`), nil)
	for i, member := range []string{"partial_json", "thinking", "text"} {
		d.handle(json.RawMessage(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"d","%s":"abc"}}`, i, member)), nil)
	}
	want := `Bash{"event":{"content_block":{"name":"Bash","type":"tool_use"}}}|{"event":{"content_block":{"type":"thinking"}}}|`
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
}

// A block whose names are over the bound is left out, and takes no memory.
func TestDeltasBoundTheNamesOfBlocks(t *testing.T) {
	long := strings.Repeat("x", maxBlockName+1)
	for name, frame := range map[string]string{
		"index": `{"type":"content_block_delta","index":"` + long + `","delta":{"type":"text_delta","text":"a"}}`,
		"tool":  `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"` + long + `"}}`,
		"kind":  `{"type":"content_block_start","index":0,"content_block":{"type":"` + long + `"}}`,
	} {
		stored, told := 0, ""
		d := deltas{
			begin: func(block) (event.Stream, error) { return nil, nil },
			store: func(json.RawMessage, json.RawMessage, string, []event.Redaction) { stored++ },
			tell:  func(message string) { told = message },
		}
		d.handle(json.RawMessage(frame), nil)
		if stored != 0 || told != unnamed || len(d.blocks) != 0 {
			t.Errorf("%s: stored %d, told %q, %d blocks", name, stored, told, len(d.blocks))
		}
	}
}
