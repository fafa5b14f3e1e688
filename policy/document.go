package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
)

// maxDocumentBytes bounds a whole document: a call's input stands in it again as facts.
const maxDocumentBytes = 8 << 20

// documentTypes are the documents of the entry points, zero values.
var documentTypes = map[Entrypoint]any{
	EntryPermission: permissionInput{}, EntryAdmission: admissionInput{}, EntryInproc: inprocInput{},
	EntryRedaction: redactionInput{},
}

// readDocument reads a document that may be partial. What is missing has its
// zero value; what is not in the document's type is an error.
func readDocument(e Entrypoint, raw json.RawMessage) (any, error) {
	zero, ok := documentTypes[e]
	if !ok {
		return nil, fmt.Errorf("entry point %q: unknown, want permission, admission, inproc or redaction", e)
	}
	value, err := decodeBounded(raw, maxDocumentBytes)
	if err != nil {
		return nil, fmt.Errorf("%s document: %w", e, err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, fmt.Errorf("%s document: want a JSON object", e)
	}
	doc := reflect.New(reflect.TypeOf(zero))
	if err := knownFields(doc.Type().Elem(), value, ""); err != nil {
		return nil, fmt.Errorf("%s document: %w", e, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(doc.Interface()); err != nil {
		return nil, fmt.Errorf("%s document: %w", e, readableType(err))
	}
	return doc.Elem().Interface(), nil
}

// embedded is how the decoder calls the fields that all documents begin with.
const embedded = "commonInput."

// readableType says which field has the wrong type in the document's words.
func readableType(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: a %s does not belong there", strings.TrimPrefix(wrong.Field, embedded), wrong.Value)
	}
	return err
}

// knownFields refuses the first field, in the order of names, that type t lacks.
func knownFields(t reflect.Type, value any, at string) error {
	switch t.Kind() {
	case reflect.Pointer:
		return knownFields(t.Elem(), value, at)
	case reflect.Slice:
		list, _ := value.([]any)
		for i, item := range list {
			if err := knownFields(t.Elem(), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Map, reflect.Struct:
		object, _ := value.(map[string]any)
		return knownMembers(t, object, at)
	}
	return nil
}

func knownMembers(t reflect.Type, object map[string]any, at string) error {
	fields := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		typesOfFields(t, fields)
	}
	for _, name := range sortedKeys(object) {
		inner, path := fields[name], strings.TrimPrefix(at+"."+name, ".")
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		}
		if inner == nil {
			return fmt.Errorf("unknown field %q, the nearest is %q", path, nearest(name, sortedKeys(fields)))
		}
		if err := knownFields(inner, object[name], path); err != nil {
			return err
		}
	}
	return nil
}

func typesOfFields(t reflect.Type, fields map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			typesOfFields(f.Type, fields)
		case name != "" && name != "-":
			fields[name] = f.Type
		}
	}
}

// nearest returns the known word that is spelt most like name.
func nearest(name string, known []string) string {
	best := ""
	for _, word := range known {
		if best == "" || spelling.Distance(name, word) < spelling.Distance(name, best) {
			best = word
		}
	}
	return best
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// written writes a document as JSON exactly as the policies see it.
func written(doc any) (json.RawMessage, error) { return writtenTerm(toTerm(doc).Value) }
