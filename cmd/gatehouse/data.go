package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	document, err := parseDocument(path, text)
	if err != nil {
		return nil, fmt.Errorf("policy.data: %w", err)
	}
	if isDaily(document) {
		if _, err := dailyRows(path, document); err != nil {
			return nil, fmt.Errorf("policy.data: %w", err)
		}
	}
	return document, nil
}

// parseDocument reads the text of a file as the document that policies see.
func parseDocument(path, text string) (map[string]any, error) {
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		var tree map[string]any
		if _, err := toml.Decode(text, &tree); err != nil {
			return nil, syntaxError(path, text, err)
		}
		encoded, err := json.Marshal(tree)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		text = string(encoded)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // as written: a float would round a long number
	var document map[string]any
	err := d.Decode(&document)
	if err == nil && document == nil {
		err = errors.New("null is none")
	}
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("more than one value")
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, syntaxError(path, text, err)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = errors.New("another value stands there")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: want a TOML table or a JSON object: %w", path, err)
	}
	if err := onceEach(json.NewDecoder(strings.NewReader(text)), ""); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return document, nil
}

// onceEach refuses a member that stands twice in one object: a decoder keeps the
// last one only. It reads one value that is known to be JSON.
func onceEach(d *json.Decoder, at string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", at, i)
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			inner = strings.TrimPrefix(at+"."+name, ".")
			if seen[name] {
				return fmt.Errorf("%q is set twice; keep one", inner)
			}
			seen[name] = true
		}
		if err := onceEach(d, inner); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
