package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// This file has the CLI read the tools of servers that changed. CLI 2.1.197
// acknowledges a server's word that its list changed, and goes on with the old one;
// newer ones ask at once. It asks all servers again when they are taken away from it
// and given back. That breaks calls under way, so it is done between turns only.

// relistWait is how long a turn waits for each of the two steps at most.
const relistWait = 5 * time.Second

// knownLists are what the CLI knows of the lists of tools. The zero value knows that it
// has none.
type knownLists struct {
	mu    sync.Mutex
	given map[string]int  // how often the CLI got a server's list, by name
	stale map[string]bool // servers whose list changed since the CLI asked for it
	news  chan struct{}   // closed when a list is given, and then made anew
}

// asked notes that the CLI asks for a list; the reply it returns notes that it got it.
func (t *knownLists) asked(server string, reply func(json.RawMessage)) func(json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.given == nil {
		t.given, t.stale, t.news = make(map[string]int), make(map[string]bool), make(chan struct{}) // at most one for each tool server
	}
	if _, known := t.given[server]; !known {
		t.given[server] = 0
	}
	delete(t.stale, server)
	return func(response json.RawMessage) {
		reply(response)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.given[server]++
		close(t.news)
		t.news = make(chan struct{})
	}
}

// changed notes that a server said its list changed. One that was never asked for
// will be.
func (t *knownLists) changed(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.given[server]; known {
		t.stale[server] = true
	}
}

// take says how often each list was given, and whether one of them was stale, which
// is told once.
func (t *knownLists) take() (given map[string]int, stale bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stale = len(t.stale) > 0
	clear(t.stale)
	return maps.Clone(t.given), stale
}

// await waits until the lists of servers were given again, or ctx ends.
func (t *knownLists) await(ctx context.Context, servers []string, before map[string]int) error {
	for {
		t.mu.Lock()
		news := t.news
		left := slices.ContainsFunc(servers, func(name string) bool {
			n, known := before[name]
			return known && t.given[name] <= n
		})
		t.mu.Unlock()
		if !left {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// relist has the CLI ask for the tools of all servers if some changed, before a turn
// begins. While a background task runs it waits for a later turn.
func (p *process) relist() {
	p.session.mu.Lock()
	busy := p.inTurn || len(p.tasks) > 0
	p.session.mu.Unlock()
	if busy {
		return
	}
	before, stale := p.lists.take()
	if !stale {
		return
	}
	if err := p.giveBack(before); err != nil && p.ctx.Err() == nil {
		p.session.notice("tool_server", "the CLI could not be told of tools that came or went: "+clip(err.Error()), nil)
	}
}

// giveBack takes the tool servers away and gives them back. The turn must not begin
// before the CLI has read all lists: it would ask twice at once then. A CLI that is
// slow to say that it took them away has to be given them all the same.
func (p *process) giveBack(before map[string]int) error {
	declared := make(map[string]any)
	for _, name := range p.session.toolServerNames() {
		declared[name] = map[string]string{"type": "sdk", "name": name}
	}
	if err := p.takeAway(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, relistWait)
	defer cancel()
	raw, err := p.conn.Call(ctx, "mcp_set_servers", map[string]any{"servers": declared})
	if err != nil {
		return err
	}
	var answer struct {
		Added []string `json:"added"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	return p.lists.await(ctx, answer.Added, before)
}

func (p *process) takeAway() error {
	ctx, cancel := context.WithTimeout(p.ctx, relistWait)
	defer cancel()
	_, err := p.conn.Call(ctx, "mcp_set_servers", map[string]any{"servers": map[string]any{}})
	return err
}
