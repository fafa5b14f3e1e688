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
	if x.decision == "" {
		return "", nil, errors.New("--log needs --decision, the id of a decision in it")
	}
	if x.document != "" || x.tool != "" || len(x.o.rest) > 0 {
		return "", nil, errors.New("--decision excludes a command, --tool and --document")
	}
	found, where, err := x.inLog()
	switch {
	case err != nil:
		return "", nil, err
	case found == nil:
		return "", nil, fmt.Errorf("decision %q is not in %s", x.decision, where)
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

// inLog looks for the decision, in the configured log unless one is named. where
// says what was read.
func (x *explanation) inLog() (found *decisionlog.Event, where string, err error) {
	s, err := x.toolSettings(&x.o.options)
	if err != nil {
		return nil, "", err
	}
	where = s.decisionLog.folder
	var named []string
	if x.log != "" {
		named, where = []string{x.log}, x.log
	}
	files, err := decisionLogs(named, s)
	for _, file := range files {
		_, err := decisionlog.ReadFile(file, func(e decisionlog.Event) error {
			if e.DecisionID != x.decision {
				return nil
			}
			found = &e
			return errFound
		})
		switch {
		case found != nil:
			return found, where, nil
		case err != nil:
			return nil, where, err
		}
	}
	return nil, where, err
}

// entryOfPath reads gatehouse/permission/decisions; empty when it is none.
func entryOfPath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}
