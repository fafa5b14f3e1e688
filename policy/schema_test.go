package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// TestGuideLoads loads every Rego example of the guide.
func TestGuideLoads(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```rego\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("%d examples in the guide", len(blocks))
	}
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if strings.HasPrefix(text, "package gatehouse.team_test") {
			continue // package author runs it
		}
		load(t, Options{Paths: []string{userPolicy(t, text)}})
	}
}

// TestSchemaMatchesInput holds the documents and their schemas together: no
// field is missing on either side, and none is null.
func TestSchemaMatchesInput(t *testing.T) {
	s := load(t, Options{})
	r := request("/w", "Bash", `{"command":"cat a > b"}`)
	shell := s.describe(r, map[string]any{"command": "cat a > b"})
	same(t, "permission", shell)
	same(t, "permission", s.describe(request("/w", "Read", `{}`), map[string]any{}))
	doc, err := s.describeAdmission(admission.Request{AdditionalDirs: []admission.Dir{{Path: "/x"}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "admission", doc)
}

func same(t *testing.T, kind string, doc any) {
	t.Helper()
	var schema, value any
	raw, err := schemaFiles.ReadFile("schema/" + kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if value, err = ast.JSON(toTerm(doc).Value); err != nil {
		t.Fatal(err)
	}
	for _, problem := range compare(kind, schema.(map[string]any), value) {
		t.Error(problem)
	}
}

func compare(at string, schema map[string]any, value any) []string {
	var all []string
	if kinds, ok := schema["type"].([]any); ok && value == nil && slices.Contains(kinds, any("null")) {
		return nil
	}
	switch v := value.(type) {
	case nil:
		all = append(all, at+" is null")
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range v {
			all = append(all, compare(fmt.Sprintf("%s[%d]", at, i), items, item)...)
		}
	case map[string]any:
		properties, closed := schema["properties"].(map[string]any)
		for name, inner := range v {
			if sub, ok := properties[name].(map[string]any); ok {
				all = append(all, compare(at+"."+name, sub, inner)...)
			} else if closed {
				all = append(all, at+"."+name+" is not in the schema")
			}
		}
		for name := range properties {
			if _, ok := v[name]; !ok {
				all = append(all, at+"."+name+" is only in the schema")
			}
		}
	}
	slices.Sort(all)
	return all
}
