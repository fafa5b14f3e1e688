package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/door"
)

// waiting is a question and the server that asks it.
type waiting struct {
	door.Question
	socket string
}

// askTime bounds how long one server has to list its questions: they are in its
// memory, and another server's must not wait for one that hangs.
const askTime = 3 * time.Second

// ask collects the open questions of all servers, oldest first. failed is what
// kept a server from telling; the error is of all of them, when none answered.
func (c *command) ask(ctx context.Context) (all []waiting, failed []error, err error) {
	folder := c.env.stateFolder()
	if folder == "" {
		return nil, nil, errors.New("there is no state folder (a home folder, or XDG_STATE_HOME), so no server can be found")
	}
	sockets, err := door.Sockets(doorFolder(folder))
	if err != nil {
		return nil, nil, err
	}
	answered := 0
	for _, a := range askEach(ctx, sockets) {
		switch {
		case errors.Is(a.err, door.ErrGone):
			continue
		case a.err != nil:
			failed = append(failed, a.err)
			continue
		}
		answered++
		if a.omitted > 0 {
			fmt.Fprintf(c.stderr, "gatehouse: %d more questions of one server are not shown\n", a.omitted)
		}
		all = append(all, a.questions...)
	}
	if answered == 0 && len(failed) > 0 {
		return nil, nil, errors.Join(failed...)
	}
	slices.SortStableFunc(all, func(a, b waiting) int { return a.Created.Compare(b.Created) })
	return all, failed, nil
}

// doorAnswer is what one server said.
type doorAnswer struct {
	questions []waiting
	omitted   int
	err       error
}

// askEach asks all servers at once.
func askEach(ctx context.Context, sockets []string) []doorAnswer {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answers := make([]doorAnswer, len(sockets))
	var group sync.WaitGroup
	for i, socket := range sockets {
		group.Go(func() { // ends with the answer, or with ctx
			questions, omitted, err := door.Ask(ctx, socket)
			if err != nil && !errors.Is(err, door.ErrGone) && ctx.Err() != nil {
				err = fmt.Errorf("door %s: no answer within %s", socket, askTime)
			}
			answers[i].omitted, answers[i].err = omitted, err
			for _, q := range questions {
				answers[i].questions = append(answers[i].questions, waiting{q, socket})
			}
		})
	}
	group.Wait()
	return answers
}

// tellFailed says on stderr which servers could not be asked, but for those in
// told, and returns all of them.
func (c *command) tellFailed(failed []error, told map[string]bool) map[string]bool {
	now := map[string]bool{}
	for _, err := range failed {
		text := escapeControl(err.Error())
		if now[text] = true; !told[text] {
			fmt.Fprintf(c.stderr, "gatehouse: a server cannot be asked: %s\n", text)
		}
	}
	return now
}
