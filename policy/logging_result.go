package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// loggedResult is the result of an event: the decision, and what every rule said.
// It is put together on the log's goroutine.
type loggedResult struct {
	decision permission.Decision
	trace    *trace
	set      *Set
}

type loggedVerdict struct {
	Effect   string `json:"effect"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason,omitempty"`
	Severity string `json:"severity,omitempty"`
	Layer    string `json:"layer"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Ignored  string `json:"ignored,omitempty"` // why it does not count
}

type loggedLayer struct {
	Name     string          `json:"name"`
	Revision string          `json:"revision,omitempty"`
	TookNS   int64           `json:"took_ns"`
	Failure  string          `json:"failure,omitempty"`
	Verdicts []loggedVerdict `json:"verdicts"`
}

// MarshalJSON writes the decision's fields, updated_input and layers.
func (r loggedResult) MarshalJSON() ([]byte, error) {
	out := struct {
		permission.Decision
		UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
		Layers       []loggedLayer   `json:"layers"`
	}{Decision: r.decision, UpdatedInput: r.decision.UpdatedInput, Layers: []loggedLayer{}}
	if r.trace != nil {
		for _, l := range r.trace.taken(r.set) {
			layer := loggedLayer{Name: l.Name, Revision: l.Revision, TookNS: int64(l.Took), Failure: l.Failure, Verdicts: []loggedVerdict{}}
			for _, v := range l.Verdicts {
				layer.Verdicts = append(layer.Verdicts, loggedVerdict{v.Effect, v.Rule, v.Reason, v.Severity, v.Layer, v.File, v.Line, v.Ignored})
			}
			out.Layers = append(out.Layers, layer)
		}
	}
	return json.Marshal(out)
}

// hiddenParameters points at the values of variables and headers in a request:
// they are credentials more often than not, in forms that no detector knows. The
// digests of variables go with them, since a short value can be guessed from one.
func hiddenParameters(all map[string]json.RawMessage) (pointers []string) {
	variables := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := "/input/parameters/" + pointerStep(name)
		if strings.HasPrefix(name, "env.") {
			pointers = append(pointers, at, fmt.Sprintf("/input/request/env/%d/value_sha256", variables))
			variables++
			continue
		}
		if value, err := decodeValue(all[name]); err == nil {
			pointers = append(pointers, hiddenWithin(value, at)...)
		}
	}
	return pointers
}

func hiddenWithin(value any, at string) (pointers []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := at + "/" + pointerStep(name)
			if members, ok := v[name].(map[string]any); ok && len(members) > 0 && (name == "env" || name == "headers") {
				pointers = append(pointers, inner)
				continue
			}
			pointers = append(pointers, hiddenWithin(v[name], inner)...)
		}
	case []any:
		for i, item := range v {
			pointers = append(pointers, hiddenWithin(item, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return pointers
}

func pointerStep(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
