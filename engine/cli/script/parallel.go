package script

import (
	"errors"
	"slices"
	"sync"
)

// parallel plays the calls of one message. Concurrent ones are asked at the
// same time and reported in the order their answers come; the others wait for
// their predecessor to have run. Neighbours whose in-process server says that they
// only read run beside each other, after those before them.
func (p *process) parallel(a *actor, tools []Tool) error {
	var wg sync.WaitGroup
	errs := make([]error, len(tools))
	opened := make([]chan struct{}, len(tools)+1)
	for i := range opened {
		opened[i] = make(chan struct{})
	}
	close(opened[len(tools)])
	var previous, batch []<-chan struct{} // before this call; of the calls beside it
	for i, t := range tools {
		c := p.newCall(a, t)
		c.opened = sync.OnceFunc(func() { close(opened[i]) })
		ran, next := make(chan struct{}), opened[i+1]
		var before []<-chan struct{}
		switch beside := p.parallelTool(t.Name); {
		case t.Concurrent:
			next = closedChannel()
			batch = append(batch, ran)
		case beside:
			before, next = previous, closedChannel()
			batch = append(batch, ran)
			t.Concurrent = true
		default:
			before = slices.Concat(previous, batch)
			previous, batch = []<-chan struct{}{ran}, nil
		}
		c.announce()
		wg.Go(func() { // ends with the call
			defer c.opened()
			errs[i] = p.inTurn(a, c, before, ran, next)
		})
		if i == 0 || t.Concurrent {
			<-opened[i] // the question comes before the next assistant frame
		}
	}
	wg.Wait()
	return firstSevere(errs)
}

// inTurn plays a call after its predecessor has run and reports it when the
// next one has been asked, which is the order of the real CLI.
func (p *process) inTurn(a *actor, c *call, before []<-chan struct{}, ran chan<- struct{}, next <-chan struct{}) error {
	for _, b := range before {
		<-b
	}
	if a.t.ctx.Err() != nil {
		close(ran)
		return p.aborted(a, c, errInterrupted)
	}
	finish, err := p.settle(a, c)
	close(ran)
	if err != nil {
		return err
	}
	<-next
	return finish()
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// firstSevere prefers the end of the process to an interrupt to everything else.
func firstSevere(errs []error) error {
	for _, want := range []error{errExit, errDenyInterrupt, errAbortedTools} {
		for _, err := range errs {
			if errors.Is(err, want) {
				return err
			}
		}
	}
	return errors.Join(errs...)
}
