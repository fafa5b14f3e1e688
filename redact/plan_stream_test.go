package redact

import (
	"strings"
	"testing"
)

func TestPlanStream(t *testing.T) {
	for _, row := range []struct {
		name, edits string
		block       Block
		in, want    string
		rules       string
	}{
		{"no edit", `[]`, Block{}, "a " + planSecret + " b", "a [REDACTED:github] b", "github"},
		{"finds dropped", `[{"action":"drop","detectors":["vendor"],"rule":"a.b"}]`, Block{}, "a " + planSecret + " b", "a [REDACTED:github] b", "github"},
		{"covered", `[{"action":"redact","rule":"a.b"}]`, Block{}, "some text", "[REDACTED:a.b]", "a.b"},
		{"dropped", `[{"action":"drop","rule":"a.b"}]`, Block{}, "some text", "", "a.b"},
		{"replaced", `[{"action":"replace","with":"—","rule":"a.b"}]`, Block{}, "some text", "—", "a.b"},
		{"hashed", `[{"action":"hash","rule":"a.b"}]`, Block{}, "some text", "[REDACTED:a.b]", "a.b"},
		{"nothing said", `[{"action":"redact","rule":"a.b"}]`, Block{}, "", "", ""},
		{"another block", `[{"action":"redact","rule":"a.b","select":{"blocks":["thinking"]}}]`, Block{Type: "text"}, "some text", "some text", ""},
		{"a block nobody knows", `[{"action":"redact","rule":"a.b","select":{"blocks":["thinking"]}}]`, Block{}, "some text", "[REDACTED:a.b]", "a.b"},
		{"a tool's block, but no tool", `[{"action":"redact","rule":"a.b","select":{"blocks":["tool_use"]}}]`, Block{}, "some text", "some text", ""},
		{"a tool", `[{"action":"redact","rule":"a.b","select":{"tools":["mcp__*"]}}]`, Block{Type: "tool_use", Tool: "mcp__x"}, `{"a":1}`, "[REDACTED:a.b]", "a.b"},
		{"another tool", `[{"action":"redact","rule":"a.b","select":{"tools":["mcp__*"]}}]`, Block{Type: "tool_use", Tool: "Bash"}, `{"a":1}`, `{"a":1}`, ""},
		{"a pointer to it", `[{"action":"redact","rule":"a.b","select":{"pointer":"/message/content/*/text"}}]`, Block{Type: "text"}, "x", "[REDACTED:a.b]", "a.b"},
		{"a pointer past it", `[{"action":"redact","rule":"a.b","select":{"pointer":"/message/content/*/input/token"}}]`, Block{Type: "text"}, "x", "x", ""},
		{"a pointer into an input", `[{"action":"redact","rule":"a.b","select":{"pointer":"/message/content/*/input/token"}}]`, Block{Type: "tool_use", Tool: "x"}, "{}", "[REDACTED:a.b]", "a.b"},
		{"a pointer into an output", `[{"action":"redact","rule":"a.b","select":{"pointer":"/output/stdout"}}]`, Block{Type: "tool_result", Tool: "Bash"}, "x", "[REDACTED:a.b]", "a.b"},
		{"keys of a document", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, " {\"a\":\n{\"ssn\":1}}", "[REDACTED:key]", "a.b"},
		{"keys in lines", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, "so\n{\"ssn\":\"1\"}\nand \"ssn\": 2\nend", "so\n{\"ssn\":\"[REDACTED:key]\"}\nand \"ssn\": 0\nend", "a.b"},
		{"a value of several lines", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, "so\n{\"ssn\": {\n\"x\": 1\n", "so\n{[REDACTED:key]", "a.b"},
		{"a value on the next line", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, "so \"ssn\":\n\"1\"", "so [REDACTED:key]", "a.b"},
		{"no such key", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, "a \"b\": {\n " + planSecret + "\nc", "a \"b\": {\n [REDACTED:github]\nc", "github"},
		{"a long line", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, "x " + strings.Repeat("y", maxLine), "[REDACTED:key]", "a.b"},
		{"cut", `[{"action":"truncate","max_bytes":6,"rule":"a.b"}]`, Block{}, "abcd€fgh", "abcd…[cut at 6 bytes by rule a.b]", "a.b"},
		{"short enough", `[{"action":"truncate","max_bytes":6,"rule":"a.b"}]`, Block{}, "abcdef", "abcdef", ""},
		{"not through a placeholder", `[{"action":"truncate","max_bytes":9,"rule":"a.b"}]`, Block{}, "ab " + planSecret + " c", "ab …[cut at 9 bytes by rule a.b]", "github a.b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := plan(t, row.edits)
			for _, size := range []int{len(row.in) + 1, 1, 3, 7} {
				s := p.Stream(row.block)
				var out strings.Builder
				var rules []string
				keep := func(safe string, hits []Hit) {
					out.WriteString(safe)
					for _, h := range hits {
						if len(rules) == 0 || rules[len(rules)-1] != h.Detector {
							rules = append(rules, h.Detector)
						}
					}
				}
				for rest := row.in; rest != ""; {
					n := min(size, len(rest))
					keep(s.Write(rest[:n]))
					rest = rest[n:]
				}
				keep(s.Close())
				if out.String() != row.want || strings.Join(rules, " ") != row.rules {
					t.Errorf("pieces of %d: got %q by %s, want %q by %s", size, out.String(), rules, row.want, row.rules)
				}
			}
		})
	}
}
