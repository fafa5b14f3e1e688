package engine

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What a plugin hides of a tool's output before the model reads it need not leave
// a placeholder, by which the event of the output would tell of it. So it is kept
// until that event.

const (
	// maxHidden bounds the calls of which it is kept at once; of more, only what left
	// a placeholder is told.
	maxHidden = 1024
	// maxHiddenEach bounds what is kept of one call: detectors.
	maxHiddenEach = 64
)

// hide keeps what plugins hid of the output of a call.
func (u *duties) hide(toolUse string, found []event.Redaction) {
	var theirs []event.Redaction
	for _, f := range found {
		if strings.HasPrefix(f.Detector, "plugin.") {
			theirs = counted(theirs, f)
		}
	}
	if len(theirs) == 0 || toolUse == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hidden == nil {
		u.hidden = make(map[string][]event.Redaction)
	}
	if _, known := u.hidden[toolUse]; known || len(u.hidden) < maxHidden {
		u.hidden[toolUse] = theirs
	}
}

// counted adds one to the counts by detector.
func counted(all []event.Redaction, f event.Redaction) []event.Redaction {
	for i := range all {
		if all[i].Detector == f.Detector {
			all[i].Count += f.Count
			return all
		}
	}
	if len(all) >= maxHiddenEach {
		return all
	}
	return append(all, event.Redaction{Pointer: "/content", Detector: f.Detector, Count: f.Count})
}

// covered is what plugins hid of the output whose event comes now, but for what a
// placeholder tells.
func (u *duties) covered(toolUse string, content json.RawMessage) (rest []event.Redaction) {
	u.mu.Lock()
	hidden := u.hidden[toolUse]
	delete(u.hidden, toolUse)
	u.mu.Unlock()
	for _, f := range hidden {
		if !bytes.Contains(content, []byte(redactionMark+f.Detector+"]")) {
			rest = append(rest, f)
		}
	}
	return rest
}
