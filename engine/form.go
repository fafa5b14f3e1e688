package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Bounds of a form.
const (
	maxForm        = 64 << 10 // bytes of message, schema and URL together
	maxFormFields  = 64
	maxFormContent = 256 << 10 // bytes of a filled form
)

// FormField is one property of a form. MCP keeps forms flat, so a field is a
// text, a number, a yes or no, or a choice. The zero value takes nothing.
type FormField struct {
	Name        string
	Type        string // "string", "number", "integer", "boolean", or "array": several of Options
	Title       string
	Description string
	Required    bool
	Options     []FormOption    // the only texts taken; nil = any
	Default     json.RawMessage // nil = none; never filled in by Gatehouse

	minLength, maxLength, minimum, maximum, minItems, maxItems *float64 // nil = no limit
}

// FormOption is one choice.
type FormOption struct {
	Value string `json:"const"`
	Title string `json:"title"` // may be empty
}

// Fields lists what the form asks for, in the order of the schema; nothing for
// mode url. The error says what of the schema is more than MCP allows.
func (f *Form) Fields() ([]FormField, error) {
	if f.Mode != "form" {
		return nil, nil
	}
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(f.Schema, &schema); err != nil || cmp.Or(schema.Type, "object") != "object" {
		return nil, errors.New("the form's schema is no object schema")
	}
	if len(schema.Properties) > maxFormFields {
		return nil, fmt.Errorf("the form has %d properties, at most %d are taken", len(schema.Properties), maxFormFields)
	}
	for _, name := range schema.Required {
		if schema.Properties[name] == nil {
			return nil, fmt.Errorf("property %q is required but not described", clip(name))
		}
	}
	fields := make([]FormField, 0, len(schema.Properties))
	for _, name := range memberOrder(field(f.Schema, "properties")) {
		one, err := readField(schema.Properties[name])
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", clip(name), err)
		}
		one.Name, one.Required = name, slices.Contains(schema.Required, name)
		fields = append(fields, one)
	}
	return fields, nil
}

// property is the schema of one property, of whatever type.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	MinLength   *float64        `json:"minLength"`
	MaxLength   *float64        `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *float64        `json:"minItems"`
	MaxItems    *float64        `json:"maxItems"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []FormOption    `json:"oneOf"`
	AnyOf       []FormOption    `json:"anyOf"`
	Items       *property       `json:"items"`
}

func readField(raw json.RawMessage) (FormField, error) {
	var p property
	if err := json.Unmarshal(raw, &p); err != nil {
		return FormField{}, errors.New("its schema is not one of MCP's")
	}
	one := FormField{
		Type: p.Type, Title: p.Title, Description: p.Description, Default: p.Default, Options: p.options(),
		minLength: p.MinLength, maxLength: p.MaxLength, minimum: p.Minimum, maximum: p.Maximum, minItems: p.MinItems, maxItems: p.MaxItems,
	}
	switch p.Type {
	case "string":
		return one, nil
	case "number", "integer", "boolean":
		if one.Options != nil {
			return one, fmt.Errorf("only texts can be choices, it is of type %s", p.Type)
		}
		return one, nil
	case "array":
		if p.Items == nil || p.Items.options() == nil {
			return one, errors.New("a list must be of choices (items with enum or anyOf)")
		}
		one.Options = p.Items.options()
		return one, nil
	}
	return one, fmt.Errorf("type %q, want string, number, integer, boolean or array", clip(p.Type))
}

// options are the choices in any of MCP's spellings.
func (p *property) options() []FormOption {
	switch {
	case p.OneOf != nil:
		return p.OneOf
	case p.AnyOf != nil:
		return p.AnyOf
	case p.Enum == nil:
		return nil
	}
	options := make([]FormOption, len(p.Enum))
	for i, value := range p.Enum {
		options[i].Value = value
		if i < len(p.EnumNames) {
			options[i].Title = p.EnumNames[i]
		}
	}
	return options
}

// memberOrder returns an object's names in the order they are written.
func memberOrder(object json.RawMessage) (names []string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return names // cannot happen: it was decoded before
		}
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}
