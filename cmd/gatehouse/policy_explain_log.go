package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// errFound ends the reading of a log.
var errFound = errors.New("found")

// logged takes the document from a line of a decision log.
func (x *explanation) logged(out *explainResult) (policy.Entrypoint, json.RawMessage, error) {
	if x.decision == "" || x.log == "" {
		return "", nil, errors.New("--decision and --log belong together")
	}
	if x.document != "" || x.tool != "" || len(x.o.rest) > 0 {
		return "", nil, errors.New("--decision excludes a command, --tool and --document")
	}
	var found *decisionlog.Event
	_, err := decisionlog.ReadFile(x.log, func(e decisionlog.Event) error {
		if e.DecisionID != x.decision {
			return nil
		}
		found = &e
		return errFound
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return "", nil, err
	case found == nil:
		return "", nil, fmt.Errorf("decision %q is not in %s", x.decision, x.log)
	case len(found.Input) == 0:
		return "", nil, fmt.Errorf("decision %q was logged without its input, so it cannot be explained", x.decision)
	}
	out.Decision = found.DecisionID
	out.Notes = append(out.Notes, "judged with the policies in force now, not with those of "+found.Timestamp.Format("2006-01-02 15:04:05 MST"))
	if found.Covered() {
		out.Notes = append(out.Notes, "parts of the input are covered in the log, so rules that look at them may answer differently: "+
			strings.Join(append(found.Erased, found.Masked...), ", "))
	}
	return documentEntry(found.Input, entryOfPath(found.Path))
}

// entryOfPath reads gatehouse/permission/decisions; empty when it is none.
func entryOfPath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}
