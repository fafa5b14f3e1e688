package event

import (
	"context"
	"fmt"
)

// withheldText stands for the rest of a text of which a redactor failed.
const withheldText = "[withheld: redaction ended with an error]"

// Stream begins a text of the sort p describes that arrives in pieces. It passes
// those of the log's redactors that are a [Streamer], in order; nil when none is.
// The pieces it returns are still to be given to [Log.Add] or [Log.Redact], for
// the sake of the others. The origin is the log's own.
func (l *Log) Stream(ctx context.Context, p Payload) (s Stream, err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, fmt.Errorf("begin to redact a text of kind %s: panic: %v", p.Kind, v)
		}
	}()
	p.Origin = l.origin.Load()
	var links []Stream
	for _, r := range l.redactors {
		streamer, ok := r.(Streamer)
		if !ok {
			continue
		}
		link, err := streamer.Stream(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("begin to redact a text of kind %s: %w", p.Kind, err)
		}
		links = append(links, link)
	}
	if len(links) == 0 {
		return nil, nil
	}
	return &chain{links: links}, nil
}

// chain is several streams one after the other, each seeing what the one before
// lets pass. When one panics nothing passes any more.
type chain struct {
	links  []Stream
	broken bool
}

// Write implements Stream.
func (c *chain) Write(piece string) (safe string, found []Redaction) {
	if c.broken {
		return "", nil
	}
	defer func() {
		if recover() != nil {
			c.broken, safe, found = true, "", nil
		}
	}()
	for _, link := range c.links {
		if piece == "" {
			break
		}
		var more []Redaction
		piece, more = link.Write(piece)
		found = append(found, more...)
	}
	return piece, found
}

// Close implements Stream.
func (c *chain) Close() (rest string, found []Redaction) {
	if c.broken {
		return withheldText, nil
	}
	defer func() {
		if recover() != nil {
			c.broken, rest, found = true, withheldText, nil
		}
	}()
	for _, link := range c.links {
		safe, more := "", []Redaction(nil)
		if rest != "" {
			safe, more = link.Write(rest)
			found = append(found, more...)
		}
		rest, more = link.Close()
		rest, found = safe+rest, append(found, more...)
	}
	return rest, found
}
