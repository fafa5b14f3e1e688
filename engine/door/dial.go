package door

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"
)

// Sockets lists the doors in a folder, which has to be the owner's own. Without
// a folder there are none.
func Sockets(dir string) ([]string, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := private(dir, false); err != nil {
		return nil, err
	}
	return list(dir), nil
}

// ErrGone is returned for a socket that no server listens at any more.
var ErrGone = errors.New("no server listens there")

// Ask returns a server's open questions; omitted counts those beyond a bound.
func Ask(ctx context.Context, path string) (all []Question, omitted int, err error) {
	err = talk(ctx, path, request{Op: "pending"}, func(r reply) bool {
		if r.Question != nil {
			all = append(all, *r.Question)
		}
		omitted = r.Omitted
		return r.Done
	})
	return all, omitted, err
}

// Send gives an answer to a server. An *Error is what the server said.
func Send(ctx context.Context, path string, a Answer) error {
	return talk(ctx, path, request{Op: "answer", Answer: a}, func(r reply) bool { return r.Done })
}

// talk sends one request and takes replies until one of them is the last.
func talk(ctx context.Context, path string, r request, take func(reply) bool) error {
	conn, err := dial(ctx, path)
	if err != nil {
		if refused(err) || errors.Is(err, fs.ErrNotExist) {
			return ErrGone
		}
		return fmt.Errorf("door %s: %w", path, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	line, err := encode(r)
	if err != nil {
		return err
	}
	if len(line) > MaxLine {
		return fmt.Errorf("door %s: a request has at most %d bytes", path, MaxLine)
	}
	sent := write(conn, line) // a server that turns us away closes without reading; what it said counts
	in := bufio.NewReaderSize(conn, MaxLine+1)
	for range maxQuestions + 1 {
		conn.SetReadDeadline(time.Now().Add(lineTimeout))
		r, err := read(in)
		if said, ok := errors.AsType[*Error](err); ok {
			return said
		}
		if err != nil {
			return fmt.Errorf("door %s: %w", path, errors.Join(sent, err))
		}
		if take(r) {
			return nil
		}
	}
	return fmt.Errorf("door %s: more than %d replies", path, maxQuestions)
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	address, done, err := address(path)
	if err != nil {
		return nil, err
	}
	defer done()
	d := net.Dialer{Timeout: lineTimeout}
	return d.DialContext(ctx, "unix", address)
}

// read returns one reply.
func read(in *bufio.Reader) (reply, error) {
	var r reply
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		return r, io.ErrUnexpectedEOF
	case err != nil:
		return r, err
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("reply: %w", err)
	}
	if r.Error != "" {
		return r, &Error{r.Code, r.Error}
	}
	return r, nil
}
