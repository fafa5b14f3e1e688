package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// This file owns the connections of one process to tool servers: one for each server
// the process speaks to, made at its first message. The goroutine that reads the
// process makes them and, when its output has ended, closes them.

// linkCloseWait is how long the servers of a process that ended may take to stop
// what they do for it.
const linkCloseWait = 5 * time.Second

// toolLink is one connection. It keeps the panics of a server from the engine.
type toolLink struct {
	process *process
	server  string
	link    ToolLink // nil: it could not be connected
	pushes  pushQueue
	closed  atomic.Bool
	told    atomic.Bool // that it panicked
}

// linkTo is the process's connection to a server, nil when there is none to be had.
// One that failed is tried again when the CLI begins anew.
func (p *process) linkTo(o offeredServer, message json.RawMessage) ToolLink {
	l := p.links[o.name]
	if l != nil && l.link == nil {
		if _, method := rpcHead(message); method != "initialize" {
			return nil
		}
		l = nil
	}
	if l == nil {
		l = p.connect(o)
	}
	if l.link == nil {
		return nil
	}
	return l
}

func (p *process) connect(o offeredServer) *toolLink {
	l := &toolLink{process: p, server: o.name}
	link, err := connectTo(o.server, p.session.id, l.push)
	if err != nil {
		l.shut()
		if p.links[o.name] == nil { // told once
			p.tellToolServer(o.name, fmt.Sprintf("tool server %q could not be connected: %s; its tools are missing", o.name, clip(err.Error())), nil)
		}
	}
	l.link = link
	if p.links == nil {
		p.links = make(map[string]*toolLink)
	}
	p.links[o.name] = l
	return l
}

func connectTo(s ToolServer, session string, push func(json.RawMessage) error) (link ToolLink, err error) {
	defer func() {
		if r := recover(); r != nil {
			link, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	if link, err = s.Connect(session, push); err == nil && link == nil {
		err = errors.New("it gave no connection")
	}
	if err != nil {
		return nil, err
	}
	return link, nil
}

// Deliver hands a message over. What is delivered after the process ended is
// answered with an error.
func (l *toolLink) Deliver(message json.RawMessage, reply func(json.RawMessage)) {
	reply = onceFor(message, reply)
	if l.closed.Load() {
		reply(rpcRefusal(message, rpcInternal, fmt.Sprintf("Server %q is not connected any more", l.server)))
		return
	}
	defer func() {
		if r := recover(); r != nil {
			l.panicked(r)
			reply(rpcRefusal(message, rpcInternal, fmt.Sprintf("Server %q failed: internal error", l.server)))
		}
	}()
	l.link.Deliver(message, reply)
}

func (l *toolLink) panicked(reason any) {
	s := l.process.session
	s.engine.log.Error("tool server panicked", "session", s.id, "server", l.server, "panic", s.forLog(clip(fmt.Sprint(reason))))
	if !l.told.Swap(true) {
		l.process.tellToolServer(l.server, fmt.Sprintf("tool server %q failed at a message of the session (internal error); the message was answered with an error", l.server), nil)
	}
}

// shut stops its pushes and what is delivered.
func (l *toolLink) shut() {
	l.closed.Store(true)
	l.pushes.close()
}

// Close closes the connection.
func (l *toolLink) Close(ctx context.Context) (err error) {
	l.shut()
	if l.link == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return l.link.Close(ctx)
}

// closeLinks begins to close all connections, and returns what waits for it, at most
// linkCloseWait.
func (p *process) closeLinks() (wait func()) {
	ctx, cancel := context.WithTimeout(context.Background(), linkCloseWait)
	closing := make(map[string]chan error, len(p.links))
	for name, l := range p.links {
		done := make(chan error, 1)
		closing[name] = done
		go func() { done <- l.Close(ctx) }() // ends when the server lets go of it
	}
	return func() {
		defer cancel()
		for name, done := range closing {
			if err := closed(ctx, done); err != nil {
				s := p.session
				s.engine.log.Warn("tool server did not close its connection", "session", s.id, "server", name, "error", s.forLog(clip(err.Error())))
			}
		}
	}
}

// closed waits for the end of a Close, as long as ctx lasts.
func closed(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	default:
		return fmt.Errorf("it goes on after %s", linkCloseWait)
	}
}
