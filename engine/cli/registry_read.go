package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadRegistry returns the processes that a registry's file, also one of a server
// that crashed, holds as living, oldest first. A torn last line is left out. Of a
// file that is damaged elsewhere, or longer than 16 MiB, it returns what can be
// read along with the error.
func ReadRegistry(path string) ([]Entry, error) {
	raw, err := readBounded(path)
	entries, damaged := livingOf(raw)
	if damaged > 0 {
		err = errors.Join(err, fmt.Errorf("%d lines are damaged", damaged))
	}
	if err != nil {
		return entries, fmt.Errorf("process registry %s: %w", path, err)
	}
	return entries, nil
}

func readBounded(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRegistry+1))
	if err == nil && len(raw) > maxRegistry {
		return raw[:maxRegistry], fmt.Errorf("longer than %d bytes", maxRegistry)
	}
	return raw, err
}

// livingOf reads whole lines.
func livingOf(raw []byte) (entries []Entry, damaged int) {
	living := make(map[Entry]bool)
	var order []Entry
	for {
		line, rest, whole := bytes.Cut(raw, []byte("\n"))
		if !whole {
			break
		}
		raw = rest
		var r row
		switch err := json.Unmarshal(line, &r); {
		case err != nil || r.PID <= 0:
			damaged++
		case r.Ended:
			delete(living, r.Entry)
		case !living[r.Entry]:
			living[r.Entry] = true
			order = append(order, r.Entry)
		}
	}
	for _, e := range order {
		if living[e] {
			entries = append(entries, e)
			delete(living, e) // once
		}
	}
	return entries, damaged
}
