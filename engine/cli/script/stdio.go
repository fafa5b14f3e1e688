package script

import (
	"bufio"
	"fmt"
)

// write copies frames to stdout. A host that closed its end is a reason to end.
func (p *process) write() {
	defer close(p.written)
	for {
		select {
		case line := <-p.out:
			if line == nil {
				return
			}
			if _, err := p.stdout.Write(line); err != nil {
				p.exit(1)
				return
			}
		case <-p.killed:
			return
		}
	}
}

// send queues one frame.
func (p *process) send(frame map[string]any) {
	line, err := marshal(frame)
	if err != nil {
		p.fail(2, fmt.Sprintf("scripted cli: marshal frame: %v", err))
		return
	}
	p.sendLine(line)
}

func (p *process) sendLine(line []byte) {
	select {
	case p.out <- line:
	case <-p.written:
	case <-p.killed:
	}
}

// read handles stdin line by line; there is no limit on a line's length.
func (p *process) read() {
	r := bufio.NewReader(p.stdin)
	for {
		line, err := r.ReadBytes('\n')
		select {
		case <-p.quit:
			return
		default:
		}
		if len(line) > 0 && !p.handle(line) {
			return
		}
		if err != nil {
			p.stdinClosed()
			return
		}
	}
}

// stdinClosed lets the running turn finish: questions to us fail from now on.
func (p *process) stdinClosed() {
	if p.sc.IgnoreStdinClose {
		return
	}
	p.mu.Lock()
	p.closed = true
	pending := p.pending
	p.pending = nil
	p.mu.Unlock()
	close(p.gone)
	for _, q := range pending {
		q.deliver(answer{err: errClosedPending})
	}
	p.poke()
}
