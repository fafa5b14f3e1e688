package policy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestReferenceIsCurrent holds the reference page to the documents; with
// -update it writes it.
func TestReferenceIsCurrent(t *testing.T) {
	want := []byte(reference())
	path := filepath.Join("..", "docs", "policy-reference.md")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s does not describe the documents as they are now; run go generate ./policy (%v)", path, err)
	}
}

// referencePage is the page as it grows.
type referencePage struct {
	strings.Builder
	queue []reflect.Type // object types that still need a section
	known map[reflect.Type]bool
}

// reference renders every document and every object in it as a table.
func reference() string {
	p := &referencePage{known: map[reflect.Type]bool{}}
	p.WriteString("# The documents that policies judge\n\n" +
		"Generated from the types of the program (`go generate ./policy`). Every field is always there: a list or an object\n" +
		"that holds nothing is empty, and only what is marked *or null* can be null; test it with `is_null`. A policy that\n" +
		"reads a field that is not listed here does not load. The same as JSON Schema: `policy/schema/*.json`.\n")
	for _, name := range documentOrder {
		fmt.Fprintf(p, "\n## %s\n\nPackage `gatehouse.%s`.\n\n", documentTitles[name], name)
		p.table(reflect.TypeOf(documents[name]))
	}
	p.WriteString("\n## Objects\n")
	for len(p.queue) > 0 {
		next := p.queue[0]
		p.queue = p.queue[1:]
		fmt.Fprintf(p, "\n### %s\n\n", objectName(next))
		p.table(next)
	}
	return p.String()
}

func (p *referencePage) table(t reflect.Type) {
	p.WriteString("| field | type | meaning |\n|---|---|---|\n")
	p.rows(t)
}

func (p *referencePage) rows(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			p.rows(f.Type)
		case name != "" && f.IsExported():
			fmt.Fprintf(p, "| `%s` | %s | %s |\n", name, p.kind(f), strings.ReplaceAll(f.Tag.Get("doc"), "|", `\|`))
		}
	}
}

// kind names the type of a field and the words of an enumeration.
func (p *referencePage) kind(f reflect.StructField) string {
	text := p.word(f.Type)
	if words, ok := f.Tag.Lookup("enum"); ok {
		var all []string
		for word := range strings.SplitSeq(words, ",") {
			all = append(all, fmt.Sprintf("`%q`", word))
		}
		text = strings.Join(all, ", ")
	}
	return text
}

func (p *referencePage) word(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Pointer:
		return p.word(t.Elem()) + " or null"
	case reflect.Slice:
		return "list of " + p.word(t.Elem())
	case reflect.Map:
		return "object: " + p.word(t.Elem()) + " by name"
	case reflect.Struct:
		if !p.known[t] {
			p.known[t] = true
			p.queue = append(p.queue, t)
		}
		name := objectName(t)
		return fmt.Sprintf("[%s](#%s)", name, strings.ReplaceAll(name, " ", "-"))
	}
	return "any"
}

// objectName is how the page calls a type: commonInput's relatives without
// their suffix, in small letters.
func objectName(t reflect.Type) string {
	name := t.Name()
	for _, suffix := range []string{"Input", "Facts", "Output"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.ToLower(name)
}
