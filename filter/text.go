package filter

import (
	"sync"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// coverer covers secrets in one output. Its results are good until the next call.
type coverer interface {
	// cover takes the next piece and returns what can be written now.
	cover(piece []byte) ([]byte, error)
	// ready prepares for the first piece; without it the first call does. It may
	// run beside the others.
	ready()
	// end returns what was held back.
	end() []byte
}

// replayed is how much of an output's newest bytes is kept, so that another
// process can go on with it; no private key in PEM is longer.
const replayed = 32 << 10

// text is an output without a form.
type text struct {
	plan   *redact.Plan
	making sync.Once
	stream *redact.Stream // nil before ready
	begun  bool           // something came
	newest []byte         // at most 2 * replayed
	safe   []byte
}

// ready makes the tables the search goes by, which takes longer than all else
// that is done before a command starts; so it is done meanwhile.
func (t *text) ready() {
	t.making.Do(func() { t.stream = t.plan.Stream(redact.Block{Type: "tool_result", Tool: "Bash"}) })
}

// goOn begins where another process ended; past is the newest part of what it
// covered. Its end is as undecided here as it was there: what is held back then
// comes later, and the rest was written.
func (t *text) goOn(past []byte) {
	t.ready()
	t.begun = true
	t.stream.Append(nil, past)
	t.keep(past)
}

func (t *text) cover(piece []byte) ([]byte, error) {
	t.ready()
	t.begun = true
	t.keep(piece)
	t.safe = t.stream.Append(t.safe[:0], piece)
	return t.safe, nil
}

// end does not wait for the tables where nothing came.
func (t *text) end() []byte {
	if !t.begun {
		return nil
	}
	return t.stream.AppendClose(t.safe[:0])
}

func (t *text) keep(piece []byte) {
	if len(piece) >= replayed {
		t.newest = append(t.newest[:0], piece[len(piece)-replayed:]...)
		return
	}
	if len(t.newest)+len(piece) > 2*replayed {
		t.newest = append(t.newest[:0], t.newest[len(t.newest)-replayed:]...)
	}
	t.newest = append(t.newest, piece...)
}

// past is for goOn in another process.
func (t *text) past() []byte { return t.newest[max(0, len(t.newest)-replayed):] }
