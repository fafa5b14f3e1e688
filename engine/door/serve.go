package door

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// serve answers one peer's lines.
func (d *Door) serve(ctx context.Context, conn *net.UnixConn, h Handler) {
	peer, err := peerOf(conn)
	if err == nil {
		var session string
		if session, err = admit(peer, d.guard); err != nil {
			h.Refused(peer, session, err.Error())
		}
	}
	if err != nil {
		send(conn, reply{Error: err.Error(), Code: "PERMISSION_DENIED"})
		return
	}
	in := bufio.NewReaderSize(conn, MaxLine)
	for range maxRequests {
		conn.SetReadDeadline(time.Now().Add(lineTimeout))
		line, err := in.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				send(conn, reply{Error: fmt.Sprintf("a request has at most %d bytes", MaxLine), Code: "INVALID_ARGUMENT"})
			}
			return
		}
		if answer(ctx, conn, h, peer, line) != nil {
			return
		}
	}
}

// answer handles one line; an error ends the connection.
func answer(ctx context.Context, conn net.Conn, h Handler, peer Peer, line []byte) error {
	var r request
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&r)
	if err == nil && dec.More() {
		err = errors.New("more than one object")
	}
	if err != nil {
		send(conn, reply{Error: "request cannot be read: " + err.Error(), Code: "INVALID_ARGUMENT"})
		return err
	}
	switch r.Op {
	case "pending":
		return tell(conn, h.Pending())
	case "answer":
		if r.Digest == "" {
			return send(conn, reply{Error: "digest: is required, of the input that was shown", Code: "INVALID_ARGUMENT"})
		}
		if err := h.Answer(ctx, peer, r.Answer); err != nil {
			return send(conn, failure(err))
		}
		return send(conn, reply{Done: true})
	}
	return send(conn, reply{Error: fmt.Sprintf("op %.40q is unknown, want pending or answer", r.Op), Code: "INVALID_ARGUMENT"})
}

func failure(err error) reply {
	r := reply{Error: head(err.Error(), 8<<10), Code: "INTERNAL"}
	if coded, ok := errors.AsType[Coded](err); ok {
		r.Code = coded.Code()
	}
	return r
}

func tell(conn net.Conn, all []Question) error {
	omitted := max(len(all)-maxQuestions, 0)
	for _, q := range all[:len(all)-omitted] {
		line, err := fit(q)
		if err != nil {
			return err
		}
		if err := write(conn, line); err != nil {
			return err
		}
	}
	return send(conn, reply{Done: true, Omitted: omitted})
}

func send(conn net.Conn, r reply) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	return write(conn, line)
}

func write(conn net.Conn, line []byte) error {
	conn.SetWriteDeadline(time.Now().Add(lineTimeout))
	_, err := conn.Write(line)
	return err
}
