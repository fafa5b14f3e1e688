package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a document handed to the policies. Larger ones are denied.
const (
	maxInputBytes  = 1 << 20
	maxStringBytes = 256 << 10
	maxInputDepth  = 512
	maxExponent    = 400 // of a number; comparing 1e9999999 would fill the memory
	maxDigits      = 512
)

// limitError is the error of a document that is beyond a limit.
type limitError struct{ rule, message string }

func (e *limitError) Error() string { return e.message }

// decodeInput reads a JSON object exactly: numbers as written, no key twice,
// nothing behind it.
func decodeInput(raw json.RawMessage) (map[string]any, error) {
	if object, ok := plainObject(raw); ok {
		return object, nil
	}
	value, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the input is no JSON object")
	}
	return object, nil
}

func decodeValue(raw json.RawMessage) (any, error) { return decodeBounded(raw, maxInputBytes) }

func decodeBounded(raw json.RawMessage, limit int) (any, error) {
	if len(raw) > limit {
		return nil, &limitError{"engine.input_too_large", fmt.Sprintf("the input has %d bytes; policies judge at most %d", len(raw), limit)}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeNext(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the input is more than one JSON value")
	}
	return value, nil
}

func decodeNext(d *json.Decoder, depth int) (any, error) {
	if depth > maxInputDepth {
		return nil, &limitError{"engine.input_too_large", fmt.Sprintf("the input is nested more than %d deep", maxInputDepth)}
	}
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("the input is no JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return decodeObject(d, depth)
		}
		return decodeList(d, depth)
	case json.Number:
		return t, checkNumber(t.String())
	case string:
		return t, checkString(t)
	}
	return token, nil
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the input is no JSON: %w", err)
		}
		name, ok := key.(string)
		if _, twice := object[name]; twice || !ok {
			return nil, fmt.Errorf("key %.80q stands twice in one object", name)
		}
		if object[name], err = decodeNext(d, depth+1); err != nil {
			return nil, err
		}
	}
	return object, ended(d)
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		value, err := decodeNext(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, ended(d)
}

// ended takes the bracket that closes an object or a list.
func ended(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the input is no JSON: %w", err)
	}
	return nil
}

func checkString(s string) error {
	if len(s) > maxStringBytes {
		return &limitError{"engine.input_too_large", fmt.Sprintf("a text of the input has %d bytes; policies judge at most %d", len(s), maxStringBytes)}
	}
	return nil
}

func checkNumber(n string) error {
	_, exponent, found := strings.Cut(strings.ToLower(n), "e")
	size := 0
	if found {
		var err error
		if size, err = strconv.Atoi(exponent); err != nil {
			size = maxExponent + 1
		}
	}
	if size > maxExponent || size < -maxExponent || len(n) > maxDigits {
		return &limitError{"engine.input_number", fmt.Sprintf("number %.40q is beyond what policies can compare", n)}
	}
	return nil
}
