package mpmserver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of one answer, in bytes. What is oldest goes first.
const (
	maxMessages = 4 << 20
	maxOutput   = 1 << 20
)

// rereadPause is before a page is asked for again that the store could not give.
const rereadPause = 100 * time.Millisecond

// said is what a turn has said and done.
type said struct {
	messages []json.RawMessage
	bytes    int // of messages
	dropped  int64
	texts    []string
	length   int // of texts
}

// history is the part of *engine.Session that is read.
type history interface {
	ID() string
	Info() engine.Info
	Events(cursor *int64, max int) event.Page
}

var _ history = (*engine.Session)(nil)

// read goes through the events of a turn that has ended.
func read(ctx context.Context, t *engine.Turn) *said {
	return readFrom(ctx, t.Session(), t.From())
}

// readFrom reads up to the end of the turn that begins at from, or of all there is.
// An end of ctx leaves the rest out: nobody waits for it.
func readFrom(ctx context.Context, h history, from int64) *said {
	var a said
	last := h.Info().LastEventID
	for last != nil && from <= *last && ctx.Err() == nil {
		page := h.Events(&from, 0)
		if page.ResetTo != nil && *page.ResetTo > from {
			a.dropped += *page.ResetTo - from
		}
		for _, e := range page.Events {
			a.add(e, h.ID())
			if e.Type.Terminal() || e.ID >= *last {
				return &a
			}
		}
		if len(page.Events) == 0 && page.Next <= from {
			if !page.Truncated || !pause(ctx, rereadPause) {
				return &a
			}
		}
		from = max(page.Next, from)
	}
	return &a
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (a *said) add(e event.Event, session string) {
	if e.Type == event.Output {
		a.say(textOf(e.Data))
	}
	m := messageOfEvent(e, session)
	if len(m) > maxMessages { // alone too long; the others stay
		a.dropped++
		return
	}
	a.messages = append(a.messages, m)
	a.bytes += len(m)
	gone := 0
	for ; a.bytes > maxMessages; gone++ {
		a.bytes -= len(a.messages[gone])
		a.messages[gone] = nil
	}
	a.messages = a.messages[gone:]
	a.dropped += int64(gone)
}

// say keeps the words of a message.
func (a *said) say(words []string) {
	for _, w := range words {
		a.texts = append(a.texts, w)
		a.length += len(w) + 1
	}
	for len(a.texts) > 1 && a.length-len(a.texts[0])-1 >= maxOutput {
		a.length -= len(a.texts[0]) + 1
		a.texts = a.texts[1:]
	}
}

// output is what the model said on the main thread; of very much, the end.
func (a *said) output() string {
	return ending(strings.Join(a.texts, "\n"), maxOutput)
}

// synthetic is the model of messages that the CLI makes up, such as those that
// repeat an error of the API.
const synthetic = "<synthetic>"

// textOf are the texts of an assistant message: none of a sub-agent, and none that
// the CLI made up.
func textOf(data json.RawMessage) []string {
	if !json.Valid(data) {
		return nil
	}
	fields := membersOf(data)
	if isSet(fields["parent_tool_use_id"]) || isSet(fields["error"]) {
		return nil
	}
	message := membersOf(fields["message"])
	if stringOf(message["model"]) == synthetic {
		return nil
	}
	content := message["content"]
	if rawjson.Kind(content) == "a string" {
		return []string{stringOf(content)}
	}
	var words []string
	rawjson.Items(content, func(block []byte) {
		b := membersOf(block)
		if stringOf(b["type"]) == "text" {
			words = append(words, stringOf(b["text"]))
		}
	})
	return words
}

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool {
	kind := rawjson.Kind(raw)
	return kind != "nothing" && kind != "null"
}
