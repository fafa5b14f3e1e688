package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// formDraft is a form that is being filled in at the prompt.
type formDraft struct {
	fields []engine.FormField
	at     int
	values map[string]json.RawMessage
}

// showForm shows the next property, or how to answer as a whole.
func (a *asker) showForm() {
	f := a.open.Form
	switch {
	case f.Mode == "url":
		fmt.Fprintf(a.out, "  open %s, then\n[a]llow / [d]eny > ", escapeControl(f.URL))
	case a.script:
		fmt.Fprintf(a.out, "%s\nallow {\"property\": value, …} / deny > ", escapeLines(indent(f.Schema)))
	default:
		a.showField()
	}
}

func (a *asker) showField() {
	if a.draft == nil {
		fields, err := a.open.Form.Fields()
		if err != nil {
			fmt.Fprintf(a.out, "%s; [d]eny > ", escapeControl(err.Error()))
			return
		}
		a.draft = &formDraft{fields: fields, values: map[string]json.RawMessage{}}
	}
	d := a.draft
	if d.at >= len(d.fields) {
		fmt.Fprint(a.out, "[a]llow / [d]eny > ")
		return
	}
	f := d.fields[d.at]
	for _, text := range []string{f.Title, f.Description} {
		if text != "" {
			fmt.Fprintf(a.out, "  %s\n", escapeControl(text))
		}
	}
	for i, o := range f.Options {
		fmt.Fprintf(a.out, "  %d  %s  %s\n", i+1, escapeControl(o.Value), escapeControl(o.Title))
	}
	fmt.Fprintf(a.out, "%s (%s), [d]eny > ", escapeControl(f.Name), kindOfField(f))
}

func kindOfField(f engine.FormField) string {
	kind := map[string]string{
		"string": "text", "number": "number", "integer": "whole number", "boolean": "yes or no", "array": "numbers with commas",
	}[f.Type]
	if f.Type == "string" && f.Options != nil {
		kind = "number of a choice"
	}
	if len(f.Default) > 0 {
		kind += ", usually " + escapeControl(string(f.Default))
	}
	if !f.Required {
		kind += ", empty to leave out"
	}
	return kind
}

// formLine takes a line while a form is open.
func (a *asker) formLine(ctx context.Context, line string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	filling := !a.script && a.open.Form.Mode == "form" && a.draft != nil && a.draft.at < len(a.draft.fields)
	switch word = strings.ToLower(word); {
	case rest == "" && (word == "d" || word == "deny"), !filling && word == "deny":
		a.send(ctx, engine.Answer{DenyMessage: rest})
	case filling:
		a.fillField(ctx, strings.TrimSpace(line))
	case word == "a" || word == "allow":
		a.sendForm(ctx, json.RawMessage(rest))
	default:
		a.showForm()
	}
}

// fillField takes the value of one property, and answers after the last.
func (a *asker) fillField(ctx context.Context, text string) {
	d := a.draft
	f := d.fields[d.at]
	switch {
	case text == "" && f.Required:
		fmt.Fprintln(a.out, `  this is required; "" is the empty text`)
		a.showField()
		return
	case text == "":
		a.nextField(ctx)
		return
	}
	value, err := fieldValue(f, text)
	if err == nil {
		err = f.Check(value)
	}
	if err != nil {
		fmt.Fprintf(a.out, "  %s\n", escapeControl(err.Error()))
		a.showField()
		return
	}
	d.values[f.Name] = value
	a.nextField(ctx)
}

func (a *asker) nextField(ctx context.Context) {
	if a.draft.at++; a.draft.at < len(a.draft.fields) {
		a.showField()
		return
	}
	content, err := json.Marshal(a.draft.values)
	if err != nil {
		content = nil // cannot happen: each value was checked
	}
	a.sendForm(ctx, content)
}

// sendForm allows the form with what was filled in.
func (a *asker) sendForm(ctx context.Context, content json.RawMessage) {
	if len(content) == 0 {
		if a.open.Form.Mode == "url" {
			a.send(ctx, engine.Answer{Allow: true})
			return
		}
		content = json.RawMessage("{}")
	}
	if !json.Valid(content) {
		fmt.Fprintln(a.out, "that is no JSON object")
		a.showForm()
		return
	}
	input, err := json.Marshal(map[string]json.RawMessage{"content": content})
	if err != nil {
		input = nil // cannot happen: the content is valid
	}
	a.send(ctx, engine.Answer{Allow: true, UpdatedInput: input})
}

// fieldValue turns a line into a JSON value of the property's type. A text in
// double quotes is taken as JSON, so that any text can be written.
func fieldValue(f engine.FormField, line string) (json.RawMessage, error) {
	switch f.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("yes or no?")
	case "number", "integer":
		if raw := json.RawMessage(line); json.Valid(raw) {
			return raw, nil
		}
		return nil, fmt.Errorf("that is no number")
	case "array":
		chosen := []string{}
		for text := range strings.SplitSeq(line, ",") {
			value, err := choice(f.Options, strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, value)
		}
		return json.Marshal(chosen)
	}
	if f.Options != nil {
		value, err := choice(f.Options, line)
		if err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
	if raw := json.RawMessage(line); strings.HasPrefix(line, `"`) && json.Valid(raw) {
		return raw, nil
	}
	return json.Marshal(line)
}

// choice takes an option by its value or its number.
func choice(options []engine.FormOption, text string) (string, error) {
	for _, o := range options {
		if o.Value == text {
			return o.Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(options) {
		return options[n-1].Value, nil
	}
	return "", fmt.Errorf("choose by number, from 1 to %d", len(options))
}
