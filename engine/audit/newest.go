package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Checkpoints returns the newest checkpoint of each log below root whose id begins
// with server; logs without any are left out.
func Checkpoints(root, server string) (all []ExportedCheckpoint, err error) {
	logs, err := Logs(root)
	for _, s := range logs {
		if !strings.HasPrefix(s.Boot, server) {
			continue
		}
		c, ok, err := newestOf(s)
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", s.Folder, err)
		}
		if ok {
			all = append(all, c)
		}
	}
	return all, err
}

// NewestCheckpoint is the newest of [Checkpoints]. There may be none: then its
// Boot is empty.
func NewestCheckpoint(root, server string) (newest ExportedCheckpoint, err error) {
	all, err := Checkpoints(root, server)
	at := time.Time{}
	for _, c := range all {
		if newest.Boot == "" || !c.Time.Before(at) {
			newest, at = c, c.Time
		}
	}
	return newest, err
}

// newestOf reads the segments from the last one on.
func newestOf(s Source) (c ExportedCheckpoint, ok bool, err error) {
	parts, err := segments(s.Folder)
	if err != nil {
		return c, false, err
	}
	for _, part := range slices.Backward(parts) {
		f, err := regular.Open(inFolder(s.Folder, part.name))
		if err != nil {
			return c, false, err
		}
		for lines := newLineReader(f); ; {
			line, err := lines.next()
			if err != nil { // the end, or what verify tells of
				break
			}
			var d signedCheckpoint
			r, why := parse(line)
			if why == "" && r.Kind == Checkpoint && json.Unmarshal(r.Detail, &d) == nil {
				c, ok = ExportedCheckpoint{Boot: s.Boot, Covered: d.Covered, RecordHash: r.Hash, Signature: d.Signature}, true
			}
		}
		f.Close()
		if ok {
			return c, true, nil
		}
	}
	return c, false, nil
}
