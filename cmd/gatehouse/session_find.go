package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// keptSession is a session as the commands show it: its record, and a state that
// is true now.
type keptSession struct {
	ID       string    `json:"sessionId"`
	Parent   string    `json:"parentSessionId,omitempty"`
	State    string    `json:"state"`
	Note     string    `json:"note,omitempty"` // why the state is not that of the record, or what it does not say
	Live     bool      `json:"live"`           // a server has it
	Server   string    `json:"server,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Cwd      string    `json:"cwd"`
	Client   string    `json:"client,omitempty"`
	Title    string    `json:"title,omitempty"`
	Turns    int       `json:"turns"`
	CostUSD  float64   `json:"costUsd"`
	LastTool string    `json:"lastTool,omitempty"`
	Events   int64     `json:"events"` // the next one's id
}

const (
	serverEnded = "server ended" // why a session does not run that its record says does
	stopped     = "stopped"      // cancelled, and not for good
)

func asKept(r event.SessionRecord) keptSession {
	s := keptSession{
		ID: r.ID, Parent: r.Parent, State: r.State, Live: r.Live, Server: r.Server, Created: r.Created, Updated: r.Updated,
		Cwd: r.Cwd, Client: r.Client, Title: r.Title, Turns: r.Turns, CostUSD: r.CostUSD, LastTool: r.LastTool, Events: r.Next,
	}
	if r.State == engine.Cancelled.String() && !r.Final {
		s.Note = stopped
	}
	if !r.Live && slices.Contains([]string{engine.Running.String(), engine.Waiting.String()}, r.State) {
		s.State, s.Note = engine.Failed.String(), serverEnded
	}
	return s
}

// sessions lists what is kept, the last changed first. What cannot be read is
// told on stderr and left out.
func (c *command) sessions(store event.Store) []keptSession {
	records, err := store.Sessions()
	if err != nil {
		fmt.Fprintf(c.stderr, "gatehouse: not all sessions can be read: %s\n", errorLines(err))
	}
	all := make([]keptSession, len(records))
	for i, r := range records {
		all[i] = asKept(r)
	}
	slices.SortStableFunc(all, func(a, b keptSession) int { return b.Updated.Compare(a.Updated) })
	return all
}

// lastSession names the session that changed last.
const lastSession = "last"

// maxCandidates bounds the sessions an ambiguous beginning is told to fit.
const maxCandidates = 5

var errNoSessions = errors.New("no session is kept yet; gatehouse run \"your task\" makes one, and so does a client of gatehouse serve")

// pick finds the one session that is asked for.
func (c *command) pick(store event.Store, id string) (keptSession, error) {
	if id != lastSession {
		r, err := store.Session(id)
		if err == nil {
			return asKept(r), nil
		}
		if !errors.Is(err, event.ErrNotStored) {
			return keptSession{}, err
		}
	}
	all := c.sessions(store)
	if len(all) == 0 {
		return keptSession{}, errNoSessions
	}
	if id == lastSession {
		return all[0], nil
	}
	return only(all, id)
}

func only(all []keptSession, prefix string) (keptSession, error) {
	var found []keptSession
	for _, s := range all {
		if strings.HasPrefix(s.ID, prefix) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return keptSession{}, fmt.Errorf("session %q is not kept; gatehouse session list --all shows those that are", prefix)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, s := range found[:min(len(found), maxCandidates)] {
		names = append(names, s.ID)
	}
	if more := len(found) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return keptSession{}, fmt.Errorf("session %q fits %d sessions, write more of it: %s", prefix, len(found), strings.Join(names, ", "))
}

// minShort is how much of an id is shown at least, in characters.
const minShort = 8

// shortLength is how much of each id is needed to tell all of them apart.
func shortLength(all []keptSession) int {
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	slices.Sort(ids)
	length := minShort
	for i := 1; i < len(ids); i++ {
		same := 0
		for same < min(len(ids[i-1]), len(ids[i])) && ids[i-1][same] == ids[i][same] {
			same++
		}
		length = max(length, same+1)
	}
	return length
}
