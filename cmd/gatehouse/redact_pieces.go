package main

import (
	"context"
	"errors"
	"io"
	"iter"
)

// chunk is what one read gave.
type chunk struct {
	text []byte
	err  error
}

// pieces reads in as it comes, until its end, an error, which goes to failed, or
// the end of ctx. The goroutine ends with in, or when nobody wants more; a read
// that never returns ends with the process.
func pieces(ctx context.Context, in io.Reader, failed *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		read, done := make(chan chunk), make(chan struct{})
		defer close(done)
		go func() {
			for {
				buffer := make([]byte, redactChunk)
				n, err := in.Read(buffer)
				select {
				case read <- chunk{buffer[:n], err}:
				case <-done:
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-read:
				if len(c.text) > 0 && !yield(c.text) {
					return
				}
				if c.err != nil {
					if !errors.Is(c.err, io.EOF) {
						*failed = c.err
					}
					return
				}
			}
		}
	}
}
