package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// pluginFlag adds --plugin.
func (k *policyCall) pluginFlag(f *flag.FlagSet) {
	f.Func("plugin", "a plugin that passed, as `NAME or NAME=ANNOTATIONS`: a JSON object, a file with one, or - for stdin; may be repeated", func(given string) error {
		k.plugins = append(k.plugins, given)
		return nil
	})
}

// pluginsSaid is what the plugins of the command line say of the call: each passes
// with these annotations.
func (k *policyCall) pluginsSaid() ([]permission.Annotation, error) {
	var all []permission.Annotation
	for _, given := range k.plugins {
		name, text, _ := strings.Cut(given, "=")
		if !pluginName.MatchString(name) {
			return nil, fmt.Errorf("--plugin %q: a plugin's name is a small letter and up to 31 letters, digits and low lines", name)
		}
		if slices.ContainsFunc(all, func(a permission.Annotation) bool { return a.Plugin == name }) {
			return nil, fmt.Errorf("--plugin %s: given twice", name)
		}
		values, err := k.annotationsIn(text)
		if err != nil {
			return nil, fmt.Errorf("--plugin %s: %w", name, err)
		}
		all = append(all, permission.Annotation{Plugin: name, Verdict: permission.Abstain, Values: values})
	}
	return all, nil
}

// annotationsIn reads an object, or the file that holds it; nil for an empty text.
func (k *policyCall) annotationsIn(text string) (values map[string]json.RawMessage, err error) {
	raw := json.RawMessage(text)
	if text == "" {
		return nil, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if raw, err = k.readDocument(text); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(raw, &values); err != nil || values == nil {
		return nil, fmt.Errorf("want a JSON object of annotations by key, got %s", shorten(strings.TrimSpace(string(raw)), 20))
	}
	return values, nil
}
