package engine

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// A rule that asks can say that one approval covers more than its call
// (ask.scope). Such an approval is a grant: it answers later questions of the
// same rules under the same terms, never a deny and never a question of other
// rules. Each use is a decision and a record of its own.

// maxGrants bounds the grants of a session; the oldest go first, and then the
// question is put again.
const maxGrants = 256

type grantList struct {
	mu  sync.Mutex
	all []grant
}

type grant struct {
	requestID string // of the answer that made it
	key       string
	revision  string    // of policies and plugins; others in force make it void
	expires   time.Time // zero = with the session
}

// grantKey says which later questions an approval of this one covers; empty
// for none but itself. Terms that differ, such as who may answer, make another
// key, and so do another folder, agent or mode: the same words do something else
// there. Where nobody knows the folder, nothing is covered.
func grantKey(r permission.Request, d permission.Decision) string {
	t, folder := d.Ask, cmp.Or(r.Folder, r.Session.Cwd)
	parts := []any{t.Scope, askingRules(d), t.Approver, t.Approvers, t.Quorum, folder, r.AgentID, r.Session.Mode}
	switch {
	case !filepath.IsAbs(folder):
		return ""
	case r.Door == permission.DoorForm || r.Tool == "AskUserQuestion" || r.Tool == "ExitPlanMode":
		return "" // what was answered belongs to its own call
	case t.Scope == "session":
	case t.Scope == "rule":
		parts = append(parts, r.Tool)
	case t.Scope == "exact":
		parts = append(parts, r.Tool, canonical(r.Input))
	default:
		return ""
	}
	return digest(fmt.Appendf(nil, "%#v", parts)) // quoted: no text can pass for two
}

// askingRules are all rules that ask, and whose they are: who approved one of
// them has not approved another, nor one of that name in another layer.
func askingRules(d permission.Decision) []string {
	rules := append([]string{d.Layer + ":" + d.Rule}, d.Asking...)
	for _, r := range d.Rules {
		if strings.HasPrefix(r, "ask:") {
			rules = append(rules, r)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// add keeps an approval that covers more than its call.
func (g *grantList) add(q permission.Question, now time.Time) {
	key := grantKey(q.Request, q.Decision)
	if key == "" {
		return
	}
	made := grant{requestID: q.ID, key: key, revision: q.Decision.InForce()}
	if ttl := q.Decision.Ask.TTLSeconds; ttl > 0 {
		made.expires = now.Add(time.Duration(ttl) * time.Second)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, made)
	if len(g.all) > maxGrants {
		g.all = slices.Clone(g.all[1:])
	}
}

// use finds the grant that answers a question: the id of the request whose
// approval made it, or "".
func (g *grantList) use(r permission.Request, d permission.Decision, revision string, now time.Time) string {
	key := grantKey(r, d)
	if key == "" || d.InForce() != revision {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = slices.DeleteFunc(g.all, func(o grant) bool {
		return o.revision != revision || !o.expires.IsZero() && permission.Left(now, o.expires) == 0
	})
	for _, o := range g.all {
		if o.key == key {
			return o.requestID
		}
	}
	return ""
}
