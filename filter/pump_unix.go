//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"cmp"
	"errors"
	"os"
	"syscall"
)

const (
	pieceSize = 256 << 10 // bytes read at a time
	restMax   = 1 << 20   // read after the command has ended; no pipe holds more
)

// pump carries one output of a command from a pipe to where it belongs.
type pump struct {
	from     int // a file descriptor; reading it does not wait
	to       *os.File
	cover    coverer
	failed   func(error) // told why the output cannot be passed on; may be nil
	piece    []byte
	withheld bool // it could not be covered: what comes is read and dropped
	ended    bool // nothing comes any more
}

// withheldText stands for the rest of an output that could not be covered.
const withheldText = "\n[" + Name + ": the rest of this output is withheld: searching it for secrets ended with an error]\n"

var errWithheld = errors.New("searching its output for secrets ended with an error")

// step carries what one read gives; more says that there may be more at once.
func (p *pump) step() (n int, more bool) {
	if p.piece == nil {
		p.piece = make([]byte, pieceSize)
	}
	n, err := syscall.Read(p.from, p.piece)
	switch {
	case err == syscall.EINTR:
		return 0, true
	case err == syscall.EAGAIN:
		return 0, false
	case err != nil || n <= 0:
		p.finish()
		return 0, false
	}
	return n, p.pass(p.piece[:n])
}

// pass writes what is safe of a piece. When it cannot be written, the command
// loses its reader, as if the one behind this process had gone.
func (p *pump) pass(piece []byte) bool {
	if p.withheld {
		return true
	}
	safe, err := p.covered(func() ([]byte, error) { return p.cover.cover(piece) })
	if len(safe) > 0 { // also what came before an error
		_, failed := p.to.Write(safe)
		err = cmp.Or(err, failed)
	}
	if err != nil && p.failed != nil {
		p.failed(err)
	}
	if err == nil || p.withheld {
		return true
	}
	p.close()
	return false
}

// covered turns a panic into an output that is withheld.
func (p *pump) covered(cover func() ([]byte, error)) (safe []byte, err error) {
	defer func() {
		if recover() != nil { // what it says may hold a part of the output
			p.withheld = true
			p.to.WriteString(withheldText)
			safe, err = nil, errWithheld
		}
	}()
	return cover()
}

// finish writes what was held back.
func (p *pump) finish() {
	if !p.withheld {
		rest, _ := p.covered(func() ([]byte, error) { return p.cover.end(), nil })
		p.to.Write(rest) // an error means that nobody reads it
	}
	p.close()
}

func (p *pump) close() {
	p.ended = true
	syscall.Close(p.from)
}

// all carries until the end.
func (p *pump) all() {
	for !p.ended {
		await([]int{p.from})
		p.step()
	}
}

// rest carries what is in the pipe when the command has ended.
func (p *pump) rest() {
	for total, more := 0, true; more && !p.ended && total < restMax; {
		var n int
		n, more = p.step()
		total += n
	}
}
