package policy

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// documents are the input documents by the name of their schema.
var documents = map[string]any{
	"permission": permissionInput{}, "admission": admissionInput{}, "inproc": inprocInput{}, "redaction": redactionInput{}, "log": logInput{},
}

var documentOrder = []string{"permission", "admission", "inproc", "redaction", "log"}

var documentTitles = map[string]string{
	"permission": "permission/v1: one tool call to judge",
	"admission":  "admission/v1: a request to start, continue, answer or end something",
	"inproc":     "inproc/v1: a call of a tool that lives in this process, or its result",
	"redaction":  "redaction/v1: the sort of a payload, for the set plan of gatehouse.redaction",
	"log":        "log/v1: an event of the decision log, for the set mask of gatehouse.log",
}

// TestSchemasAreCurrent holds the schema files to the documents; with -update
// it writes them.
func TestSchemasAreCurrent(t *testing.T) {
	for name, doc := range documents {
		schema := schemaOf(reflect.TypeOf(doc))
		schema["$schema"], schema["title"] = "http://json-schema.org/draft-07/schema", documentTitles[name]
		want, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		path := "schema/" + name + ".json"
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not describe the document as it is now; run go generate ./policy (%v)", path, err)
		}
	}
}

// schemaOf describes a document type as JSON Schema.
func schemaOf(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Pointer:
		schema := schemaOf(t.Elem()) // with anyOf, the compiler would check no field behind it
		schema["type"] = []string{schema["type"].(string), "null"}
		return schema
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		describeFields(t, properties, &required)
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
	return map[string]any{} // anything
}

func describeFields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			describeFields(f.Type, properties, required)
			continue
		case name == "" || !f.IsExported():
			continue
		}
		schema := schemaOf(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			schema["description"] = doc
		}
		if words, ok := f.Tag.Lookup("enum"); ok {
			schema["enum"] = strings.Split(words, ",")
		}
		properties[name], *required = schema, append(*required, name)
	}
}
