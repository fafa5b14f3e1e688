package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A table of a calls file is made of rows:
//
//	row NAME TOOL {json} => LINE =/ LINE !! TEXT
//
// Each calls TOOL and looks at the answer, one line a member: status="idle",
// result.numTurns=1, actions[0].type="permission". "=>" wants a line, "=/" wants
// none, "!!" wants a refusal whose error holds TEXT; each may be repeated, and
// "*" in a line stands for anything. prompt, sessionId and requestId are filled
// in when the JSON does not name them; null leaves them out.
//
// A row that starts, continues or answers a session follows it until it rests
// and also sees what full polls then tell, as poll.status="idle", and what the
// CLI was given, if its script reveals that after a text that names it:
//
//	{"text": "arg"}, {"reveal": "args"}                  arg --model=m
//	{"text": "initialize"}, {"reveal": "initialize"}     initialize.systemPrompt=["x"]
//	{"text": "env CI"}, {"reveal": "env:CI"}             env CI="1"
//
// and settings.NAME=… for the members of --settings. The session of a row ends
// with the next row that starts one, unless let kept its id.
type row struct {
	name, tool string
	arguments  map[string]any
	wants      []want
}

// want is one expectation; kind is "=>", "=/" or "!!".
type want struct{ kind, text string }

var wantMark = regexp.MustCompile(`\s+(=>|=/|!!)\s+`)

func parseRow(text string) (row, error) {
	marks := wantMark.FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		return row{}, fmt.Errorf("row expects nothing")
	}
	call := text[:marks[0][0]]
	fields := strings.SplitN(call, "{", 2)
	names := strings.Fields(fields[0])
	if len(fields) != 2 || len(names) != 2 {
		return row{}, fmt.Errorf("want: row NAME TOOL {json} => LINE")
	}
	r := row{name: names[0], tool: names[1]}
	if err := json.Unmarshal([]byte("{"+fields[1]), &r.arguments); err != nil {
		return row{}, err
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		r.wants = append(r.wants, want{text[m[2]:m[3]], strings.TrimSpace(text[m[1]:end])})
	}
	return r, nil
}

// row plays one row and prints its name.
func (c *client) row(ctx context.Context, text string) error {
	r, err := parseRow(text)
	if err != nil {
		return err
	}
	c.fillIn(r)
	if r.tool == "claude_code" {
		c.endRowSession(ctx)
	}
	raw, err := json.Marshal(r.arguments)
	if err != nil {
		return err
	}
	answer, refused, err := c.quietly(ctx, r.tool, raw)
	if err != nil {
		return err
	}
	lines := flatten("", answer)
	if !refused && r.moves() {
		if r.tool == "claude_code" {
			c.rowSession = c.vars["ID"]
		}
		more, err := c.follow(ctx)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	if err := r.check(lines, refused, answer); err != nil {
		return fmt.Errorf("%w; seen:\n%s", err, strings.Join(lines, "\n"))
	}
	fmt.Printf("row %s ok\n", r.name)
	return nil
}

// moves reports whether the row sets a session in motion.
func (r row) moves() bool {
	return r.tool == "claude_code" || r.tool == "claude_code_reply" || r.arguments["action"] == "respond_permission"
}

func (c *client) fillIn(r row) {
	set := func(name string, value any) {
		if _, given := r.arguments[name]; !given {
			r.arguments[name] = value
		}
	}
	if r.tool == "claude_code" || r.tool == "claude_code_reply" {
		set("prompt", "go")
	}
	if r.tool == "claude_code_check" || r.tool == "claude_code_reply" {
		set("sessionId", c.vars["ID"])
	}
	switch r.tool {
	case "mpm_session_start", "mpm_session_continue":
		set("prompt", "go")
	}
	switch r.tool {
	case "mpm_session_continue", "mpm_session_status", "mpm_session_stop":
		set("session_id", c.vars["ID"])
	}
	if r.arguments["action"] == "respond_permission" {
		set("requestId", c.vars["REQ"])
	}
}

func (c *client) endRowSession(ctx context.Context) {
	kept := false
	for name, id := range c.vars {
		kept = kept || name != "ID" && id == c.rowSession
	}
	if c.rowSession != "" && !kept {
		// It may have ended by itself.
		_, _, _ = c.quietly(ctx, "claude_code_session", fmt.Appendf(nil, `{"action":"cancel","sessionId":%q}`, c.rowSession))
	}
	c.rowSession = ""
}

// follow waits until the session of $ID rests and tells what was seen of it.
func (c *client) follow(ctx context.Context) ([]string, error) {
	var events []any // since the last look
	for ctx.Err() == nil {
		id := c.vars["ID"]
		answer, refused, err := c.quietly(ctx, "claude_code_check", fmt.Appendf(nil,
			`{"action":"poll","sessionId":%q,"waitMs":2000,"responseMode":"full","cursor":%d}`, id, c.cursor[id]))
		if err != nil || refused {
			return nil, fmt.Errorf("poll: %v %v", answer, err)
		}
		page, _ := answer["events"].([]any)
		events = append(events, page...)
		if answer["status"] != "running" {
			answer["events"] = events
			return append(flatten("poll.", answer), revealed(spoken(events))...), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, ctx.Err()
}

// spoken returns the model's texts.
func spoken(list []any) []string {
	raw, _ := json.Marshal(list) // came out of a decoder
	var events []struct {
		Type string
		Data struct {
			Message struct {
				Content []struct{ Type, Text string }
			}
		}
	}
	_ = json.Unmarshal(raw, &events) // what is no text is left out
	var out []string
	for _, e := range events {
		for _, block := range e.Data.Message.Content {
			if e.Type == "output" && block.Type == "text" {
				out = append(out, block.Text)
			}
		}
	}
	return out
}

// revealed renders what the script tells of the CLI: names and JSON in turns.
func revealed(told []string) []string {
	var lines []string
	for i := 0; i+1 < len(told); i++ {
		var value any
		if decode([]byte(told[i+1]), &value) != nil {
			continue
		}
		name := told[i]
		switch v := value.(type) {
		case []any:
			for n, item := range v {
				lines = append(lines, fmt.Sprintf("%s %v", name, item))
				if item == "--settings" && n+1 < len(v) {
					lines = append(lines, settingsLines(v[n+1])...)
				}
			}
		case map[string]any:
			lines = append(lines, flatten(name+".", v)...)
		default:
			lines = append(lines, name+"="+compact(v))
		}
		i++
	}
	return lines
}

func settingsLines(inline any) []string {
	text, _ := inline.(string)
	var v map[string]any
	if decode([]byte(text), &v) != nil {
		return nil
	}
	return flatten("settings.", v)
}

// check compares the lines with what is wanted.
func (r row) check(lines []string, refused bool, answer map[string]any) error {
	wantsRefusal := slices.ContainsFunc(r.wants, func(w want) bool { return w.kind == "!!" })
	if refused != wantsRefusal {
		return fmt.Errorf("row %s: refused is %v", r.name, refused)
	}
	for _, w := range r.wants {
		ok := slices.ContainsFunc(lines, glob(w.text))
		switch w.kind {
		case "=/":
			ok = !ok
		case "!!":
			text, _ := answer["error"].(string)
			ok = strings.Contains(text, w.text)
		}
		if !ok {
			return fmt.Errorf("row %s: %s %s does not hold", r.name, w.kind, w.text)
		}
	}
	return nil
}

func glob(pattern string) func(string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString
}

// flatten renders every member of an object, the inner ones too, as path=JSON.
func flatten(prefix string, object map[string]any) []string {
	var lines []string
	for name, v := range object {
		lines = append(lines, flattenValue(prefix+name, v)...)
	}
	slices.Sort(lines)
	return lines
}

// maxLine keeps lines of huge events readable, and their patterns quick.
const maxLine = 8 << 10

func flattenValue(path string, v any) []string {
	text := compact(v)
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	lines := []string{path + "=" + text}
	switch v := v.(type) {
	case map[string]any:
		lines = append(lines, flatten(path+".", v)...)
	case []any:
		for i, item := range v {
			lines = append(lines, flattenValue(path+"["+strconv.Itoa(i)+"]", item)...)
		}
	}
	return lines
}

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // came out of a decoder
	return strings.TrimSuffix(b.String(), "\n")
}

// decode keeps numbers as they are written.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}
