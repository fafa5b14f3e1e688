package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// readData reads the documents of policy.data and puts their top-level members
// together; policies find them at data.cfg. Two files must not set one member.
func readData(paths []string) (map[string]any, error) {
	all, from := map[string]any{}, map[string]string{}
	for _, path := range paths {
		document, err := readDocument(path)
		if err != nil {
			return nil, err
		}
		for name, value := range document {
			if other, taken := from[name]; taken {
				return nil, fmt.Errorf("policy.data: %s and %s both set %q; keep one", other, path, name)
			}
			all[name], from[name] = value, path
		}
	}
	return all, nil
}

// readDocument reads one TOML or JSON file. TOML passes through JSON, so that
// policies see the same types either way.
func readDocument(path string) (map[string]any, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("policy.data: %s: %w", path, err)
	}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		var tree map[string]any
		if _, err := toml.Decode(text, &tree); err != nil {
			return nil, fmt.Errorf("policy.data: %w", syntaxError(path, err))
		}
		encoded, err := json.Marshal(tree)
		if err != nil {
			return nil, fmt.Errorf("policy.data: %s: %w", path, err)
		}
		text = string(encoded)
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("policy.data: %s: want a TOML table or a JSON object: %w", path, err)
	}
	return document, nil
}
