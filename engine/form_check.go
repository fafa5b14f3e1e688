package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Check validates a filled form: an object whose members are all known, with
// every required one there. The error names the property and what is wrong,
// never the value, since that can be a secret.
func (f *Form) Check(content json.RawMessage) error {
	fields, err := f.Fields()
	if err != nil {
		return err
	}
	if len(content) > maxFormContent {
		return fmt.Errorf("content has %d bytes, at most %d are taken", len(content), maxFormContent)
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(content, &values) != nil || values == nil {
		return fmt.Errorf("content: want an object, got %s", rawjson.Kind(content))
	}
	for _, one := range fields {
		value, given := values[one.Name]
		delete(values, one.Name)
		switch {
		case !given && one.Required:
			return fmt.Errorf("content.%s: is required", clip(one.Name))
		case !given:
			continue
		}
		if err := one.Check(value); err != nil {
			return fmt.Errorf("content.%s: %w", clip(one.Name), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		return fmt.Errorf("content.%s: the form has no such property", clip(name))
	}
	return nil
}

// Check validates one value. format and pattern are left to the server.
func (f FormField) Check(value json.RawMessage) error {
	switch f.Type {
	case "string":
		return f.checkText(value)
	case "number", "integer":
		return f.checkNumber(value)
	case "boolean":
		if rawjson.Kind(value) != "a boolean" {
			return fmt.Errorf("want true or false, got %s", rawjson.Kind(value))
		}
		return nil
	case "array":
		return f.checkChoices(value)
	}
	return fmt.Errorf("type %q is unknown", clip(f.Type))
}

func (f FormField) checkText(value json.RawMessage) error {
	if rawjson.Kind(value) != "a string" {
		return fmt.Errorf("want a string, got %s", rawjson.Kind(value))
	}
	text := textOf(value)
	if err := within(float64(utf8.RuneCountInString(text)), f.minLength, f.maxLength, " characters"); err != nil {
		return err
	}
	if f.Options != nil && !f.offers(text) {
		return fmt.Errorf("want one of %s", f.choices())
	}
	return nil
}

func (f FormField) checkNumber(value json.RawMessage) error {
	want := "a number"
	if f.Type == "integer" {
		want = "a whole number"
	}
	if rawjson.Kind(value) != "a number" {
		return fmt.Errorf("want %s, got %s", want, rawjson.Kind(value))
	}
	n, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil:
		return fmt.Errorf("want %s, got one that is too large", want)
	case f.Type == "integer" && n != math.Trunc(n):
		return fmt.Errorf("want %s, got a fraction", want)
	}
	return within(n, f.minimum, f.maximum, "")
}

func (f FormField) checkChoices(value json.RawMessage) error {
	var list []json.RawMessage
	if rawjson.Kind(value) != "an array" || json.Unmarshal(value, &list) != nil {
		return fmt.Errorf("want an array, got %s", rawjson.Kind(value))
	}
	for _, item := range list {
		if rawjson.Kind(item) != "a string" || !f.offers(textOf(item)) {
			return fmt.Errorf("want an array of %s", f.choices())
		}
	}
	return within(float64(len(list)), f.minItems, f.maxItems, " choices")
}

func (f FormField) offers(text string) bool {
	return slices.ContainsFunc(f.Options, func(o FormOption) bool { return o.Value == text })
}

func (f FormField) choices() string {
	quoted := make([]string, len(f.Options))
	for i, o := range f.Options {
		quoted[i] = strconv.Quote(o.Value)
	}
	return clip(strings.Join(quoted, ", "))
}

func within(n float64, least, most *float64, unit string) error {
	show := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case least != nil && n < *least:
		return fmt.Errorf("want at least %s%s", show(*least), unit)
	case most != nil && n > *most:
		return fmt.Errorf("want at most %s%s", show(*most), unit)
	}
	return nil
}
