package script

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Errors of a question that got no answer, in the CLI's words.
var (
	errClosed        error = cliError("Stream closed")
	errClosedPending error = cliError("Tool permission stream closed before response received")
	errNoAnswer            = errors.New("no answer in time")
	errWithdrawn           = errors.New("question withdrawn")
	errInterrupted         = errors.New("interrupted")
)

// answer is a control_response from the host; err is set for an error response
// and for a question nobody can answer any more.
type answer struct {
	body json.RawMessage
	err  error
}

// question is a control_request to the host that waits for its answer.
type question struct {
	id      string
	t       *turn // what an interrupt of the turn cancels; nil: background
	request map[string]any
	answer  chan answer // room for one

	done chan struct{} // of a message to a server, instead of answer: closed when got is there
	got  answer
}

// deliver hands over the answer, once: who took the question delivers it.
func (q *question) deliver(ans answer) {
	if q.done == nil {
		q.answer <- ans
		return
	}
	q.got = ans
	close(q.done)
}

// inquiry says how to put a question.
type inquiry struct {
	request map[string]any
	sent    func()        // runs when the frame is queued, or instead of it
	timeout time.Duration // 0: none; < 0: at once
	lapse   error         // what a timeout means; nil: errNoAnswer
}

// ask sends a control_request and waits. The error is an interrupt or the end
// of the process; everything else is in the answer.
func (p *process) ask(a *actor, in inquiry) (answer, error) {
	q := &question{id: newUUID(), request: in.request, answer: make(chan answer, 1)}
	if !a.background {
		q.t = a.t
	}
	if !p.open(q) {
		in.runSent()
		return answer{err: errClosed}, nil
	}
	p.send(map[string]any{"type": "control_request", "request_id": q.id, "request": in.request})
	in.runSent()
	ans, err := p.waitAnswer(a.t.ctx, q, in)
	if err == nil {
		p.mu.Lock()
		p.lastAnswer = ans
		p.mu.Unlock()
	}
	return ans, err
}

func (in inquiry) runSent() {
	if in.sent != nil {
		in.sent()
	}
}

func (p *process) waitAnswer(ctx context.Context, q *question, in inquiry) (answer, error) {
	var lapsed <-chan time.Time
	if in.timeout != 0 {
		timer := time.NewTimer(max(in.timeout, 0))
		defer timer.Stop()
		lapsed = timer.C
	}
	select {
	case ans := <-q.answer:
		return ans, nil
	case <-lapsed:
		if p.take(q.id) == nil { // answered at the same moment
			return <-q.answer, nil
		}
		p.sendCancel(q)
		if in.lapse != nil {
			return answer{err: in.lapse}, nil
		}
		return answer{err: errNoAnswer}, nil
	case <-ctx.Done():
		if p.take(q.id) != nil { // asked after the interrupt had gone through the pending ones
			p.sendCancel(q)
		}
		return answer{}, context.Cause(ctx)
	case <-p.quit:
		return answer{}, errExit
	}
}

func (p *process) sendCancel(q *question) {
	p.send(map[string]any{"type": "control_cancel_request", "request_id": q.id})
}

// open records the question unless stdin has ended.
func (p *process) open(q *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.pending = append(p.pending, q)
	return true
}

// take removes a pending question; nil if it is not pending (any more).
func (p *process) take(id string) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.pending, func(q *question) bool { return q.id == id })
	if i < 0 {
		return nil
	}
	q := p.pending[i]
	p.pending = slices.Delete(p.pending, i, i+1)
	return q
}

// takeTurn removes every pending question of a turn, oldest first.
func (p *process) takeTurn(t *turn) []*question {
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken []*question
	p.pending = slices.DeleteFunc(p.pending, func(q *question) bool {
		if q.t == t {
			taken = append(taken, q)
			return true
		}
		return false
	})
	return taken
}
