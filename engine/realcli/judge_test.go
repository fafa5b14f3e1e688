package realcli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// judged is one request that met the policies.
type judged struct {
	permission.Request
	effect permission.Effect
}

// judge hands every request to the policies and remembers it.
type judge struct {
	next permission.Decider

	mu   sync.Mutex
	seen []judged
}

// Decide implements permission.Decider.
func (j *judge) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	d, err := j.next.Decide(ctx, r)
	r.Input = slices.Clone(r.Input)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, judged{r, d.Effect})
	return d, err
}

// Revision implements permission.Decider.
func (j *judge) Revision() string { return j.next.Revision() }

// find returns what was judged of a tool whose input contains text.
func (j *judge) find(tool, text string) []judged {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []judged
	for _, r := range j.seen {
		if r.Tool == tool && strings.Contains(unescaped(r.Input), text) {
			found = append(found, r)
		}
	}
	return found
}

// unescaped renders JSON without the escapes of HTML characters, so that
// shell operators can be searched for.
func unescaped(raw json.RawMessage) string {
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">", `\"`, `"`).Replace(string(raw))
}
