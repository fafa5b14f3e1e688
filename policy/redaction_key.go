package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// key adds everything that the sort says.
func (s *payloadSort) key(b []byte) []byte {
	p := &s.p
	b = text0(text0(text0(b, string(p.Sink)), string(p.Kind)), p.Tool)
	b = strconv.AppendBool(strconv.AppendBool(b, p.IsError), s.delta)
	b = append(number0(b, len(s.subtype)), s.subtype...)
	b = text0(text0(b, s.whole.Type), s.whole.Tool)
	b = number0(b, s.n)
	for i := range s.n {
		b = append(number0(b, len(s.blocks[i].kind)), s.blocks[i].kind...)
		b = append(number0(b, len(s.blocks[i].tool)), s.blocks[i].tool...)
	}
	o := p.Origin
	if o == nil {
		return b
	}
	b = text0(text0(text0(text0(b, o.SessionID), o.Cwd), o.Mode), o.Model)
	b = texts0(strconv.AppendBool(b, o.Trusted), o.Taint)
	return texts0(text0(text0(text0(b, o.Client), o.Transport), o.Subject), o.Groups)
}

// document is what policies read of the sort.
func (s *payloadSort) document(set *Set) (redactionInput, error) {
	p := &s.p
	switch {
	case !slices.Contains(editSinks, string(p.Sink)):
		return redactionInput{}, fmt.Errorf("sink %q: unknown", p.Sink)
	case strings.Contains(p.Tool, "\x00"):
		return redactionInput{}, errors.New("the tool's name is no name")
	}
	doc := redactionInput{
		Schema: "redaction/v1", Profile: set.options.Profile,
		Server: serverFacts{ID: set.options.ServerID, Version: set.options.Version, Revision: set.revisions},
		Event:  payloadInput{Type: string(p.Kind), Subtype: string(s.subtype), Stream: "whole", Role: roleOf(p.Kind), Blocks: s.told()},
		Sink:   sinkInput{Kind: string(p.Sink)},
	}
	if s.delta {
		doc.Event.Stream = "delta"
	}
	if o := p.Origin; o != nil {
		doc.Caller = originInput{Client: o.Client, Transport: o.Transport, Subject: o.Subject, Groups: o.Groups}
		doc.Session = redactingSession{ID: o.SessionID, Cwd: o.Cwd, Mode: o.Mode, Model: o.Model, Trusted: o.Trusted, Taint: o.Taint}
	}
	return doc, nil
}

func (s *payloadSort) told() (all []blockInput) {
	if s.whole.Type != "" {
		all = append(all, blockInput{Type: s.whole.Type, Tool: s.whole.Tool, IsError: s.p.IsError})
	}
	for _, b := range s.blocks[:s.n] {
		all = append(all, blockInput{Type: string(b.kind), Tool: string(b.tool)})
	}
	return all
}

// roleOf says who speaks in a kind of event.
func roleOf(kind event.Kind) string {
	switch kind {
	case event.Output, event.Partial:
		return "assistant"
	case event.ToolResult:
		return "user"
	}
	return ""
}
