package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// predecessor are the parameters clients of claude-code-mcp may send; none may
// go missing here.
var predecessor = map[string]string{
	startTool: "prompt cwd allowedTools disallowedTools tools persistSession sessionInitTimeoutMs permissionRequestTimeoutMs " + options30,
	"claude_code_reply": "sessionId prompt forkSession resumeToken sessionInitTimeoutMs permissionRequestTimeoutMs cwd allowedTools " +
		"disallowedTools tools persistSession resumeSessionAt " + options30,
	sessionTool:   "action sessionId includeSensitive",
	configureTool: "action", // of the first design
	"claude_code_check": "action sessionId cursor includeTools responseMode maxEvents includeEvents includeActions includeResult includeUsage " +
		"includeModelUsage includeStructuredOutput includeTerminalEvents requestId decision denyMessage updatedInput updatedPermissions interrupt",
}

const options30 = "maxTurns model systemPrompt agents maxBudgetUsd effort betas additionalDirectories outputFormat thinking " +
	"pathToClaudeCodeExecutable agent mcpServers sandbox fallbackModel enableFileCheckpointing includePartialMessages strictMcpConfig " +
	"settingSources debug debugFile env"

// table is one section of docs/compatibility.md: items and what shows each.
type table map[string][]string

var quoted = regexp.MustCompile("`([^`]+)`")

// compatibility reads the tables of docs/compatibility.md by heading.
func compatibility(t *testing.T) map[string]table {
	t.Helper()
	text, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, heading := map[string]table{}, ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.Trim(strings.TrimSpace(name), "`")
			tables[heading] = nil
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case slices.Equal(cells, []string{"item", "here", "shown by"}):
			tables[heading] = table{}
		case !strings.HasPrefix(line, "| ") || tables[heading] == nil:
		case len(cells) != 3:
			t.Errorf("%s: row of %d cells, want 3: %s", heading, len(cells), line)
		default:
			tables[heading].add(t, heading, strings.Trim(cells[0], "`"), cells[2])
		}
	}
	return tables
}

func (rows table) add(t *testing.T, heading, item, shown string) {
	t.Helper()
	if rows[item] != nil {
		t.Errorf("%s: %s has two rows", heading, item)
	}
	rows[item] = []string{}
	for _, m := range quoted.FindAllStringSubmatch(shown, -1) {
		rows[item] = append(rows[item], m[1])
	}
}

func TestCompatibility(t *testing.T) {
	tables := compatibility(t)
	for _, tool := range []string{startTool, "claude_code_reply", sessionTool, "claude_code_check", configureTool} {
		taken := parameters(tool)
		compareRows(t, tool, tables[tool], taken)
		for _, name := range strings.Fields(predecessor[tool]) {
			if !slices.Contains(taken, name) {
				t.Errorf("%s does not take %s any more", tool, name)
			}
		}
	}
	compareRows(t, "Answers", tables["Answers"], answerFields(t))
	compareRows(t, "Error codes", tables["Error codes"], codes())
	for _, name := range []string{"CLAUDE_CODE_GIT_BASH_PATH", "CLAUDE_CODE_MCP_ALLOW_DISK_RESUME", "CLAUDE_CODE_MCP_RESUME_SECRET"} {
		if tables["Environment variables"][name] == nil {
			t.Errorf("%s has no row", name)
		}
	}
	for heading, rows := range tables {
		for item, shown := range rows {
			if len(shown) == 0 {
				t.Errorf("%s: nothing shows %s", heading, item)
			}
			for _, where := range shown {
				if err := exists(where); err != nil {
					t.Errorf("%s: %s: %v", heading, item, err)
				}
			}
		}
	}
}

// compareRows wants a row for every name and a name for every row.
func compareRows(t *testing.T, heading string, rows table, names []string) {
	t.Helper()
	if len(rows) == 0 {
		t.Errorf("docs/compatibility.md lacks a table under %q", heading)
	}
	for _, name := range names {
		if rows[name] == nil {
			t.Errorf("%s: %s has no row", heading, name)
		}
	}
	for item := range rows {
		if !slices.Contains(names, item) {
			t.Errorf("%s: %s has a row and does not exist", heading, item)
		}
	}
}

// answerFields are the members of every output schema, and those of a result.
func answerFields(t *testing.T) []string {
	names := map[string]bool{}
	files, err := filepath.Glob("schema/*.output.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("output schemas: %v %v", files, err)
	}
	for _, file := range files {
		for _, name := range propertiesOf(strings.TrimSuffix(filepath.Base(file), ".json")) {
			names[name] = true
		}
	}
	result := reflect.TypeFor[engine.Result]()
	for i := range result.NumField() {
		name, _, _ := strings.Cut(result.Field(i).Tag.Get("json"), ",")
		names["result."+name] = true
	}
	return slices.Collect(maps.Keys(names))
}

func propertiesOf(name string) []string {
	var s struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(schema(name), &s); err != nil {
		panic(err) // the file is ours
	}
	return slices.Collect(maps.Keys(s.Properties))
}

var codeConstant = regexp.MustCompile(`\bCode\s+= "([A-Z_]+)"`)

// codes reads the codes from where they are declared, so that a new one is seen.
func codes() []string {
	text, err := os.ReadFile("../errors.go")
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range codeConstant.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

// exists looks for FILE, FILE:TestName/sub/row or SCRIPT.txtar:row.
func exists(where string) error {
	file, test, named := strings.Cut(where, ":")
	path := filepath.Join("..", "..", file)
	if strings.HasSuffix(file, ".txtar") {
		path = filepath.Join("..", "..", "testdata", "script", file)
	}
	text, err := os.ReadFile(path)
	if err != nil || !named {
		return err
	}
	if strings.HasSuffix(file, ".txtar") {
		if !regexp.MustCompile(`(?m)^row ` + regexp.QuoteMeta(test) + `\s`).Match(text) {
			return fmt.Errorf("%s has no row %q", file, test)
		}
		return nil
	}
	name, rows, _ := strings.Cut(test, "/")
	if !strings.Contains(string(text), "func "+name+"(t *testing.T)") {
		return fmt.Errorf("%s has no %s", file, name)
	}
	for _, row := range strings.FieldsFunc(rows, func(r rune) bool { return r == '/' }) {
		if !strings.Contains(string(text), `"`+row+`"`) {
			return fmt.Errorf("%s has no %q", file, row)
		}
	}
	return nil
}

// The checker itself: what is missing is told.
func TestCompatibilityChecker(t *testing.T) {
	for where, ok := range map[string]bool{
		"parameters.txtar": true, "parameters.txtar:model": true, "parameters.txtar:mode": false, "nothing.txtar": false,
		"engine/totals_test.go:TestTurnsAndCostsAddUp": true, "engine/totals_test.go:TestTurns": false,
		"engine/realcli/parameters_test.go:TestParameters/model/betas": true, "engine/realcli/parameters_test.go:TestParameters/alpha": false,
	} {
		if err := exists(where); (err == nil) != ok {
			t.Errorf("%s: %v, want found %v", where, err, ok)
		}
	}
	if len(codes()) != 9 {
		t.Errorf("codes found: %q", codes())
	}
}
