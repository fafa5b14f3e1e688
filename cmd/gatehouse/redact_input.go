package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Bounds of redact.
const (
	maxRedactBytes = 64 << 20 // of a text that is searched as a whole, and of a JSON document
	redactChunk    = 32 << 10 // read at once where text streams
	binaryLook     = 8000     // a NUL byte among so many of the first makes a file binary, as git has it
)

// one covers one input.
func (r *redaction) one(ctx context.Context, name string) error {
	if name == stdinName {
		_, err := r.through(ctx, name, r.stdin, r.out())
		return err
	}
	f, err := regular.Open(name)
	switch {
	case errors.Is(err, regular.ErrNotRegular):
		return errors.New("not a regular file; name files (git ls-files lists those of a repository), or use a pipe")
	case err != nil:
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			return path.Err // the caller names the file
		}
		return err
	}
	defer f.Close()
	if r.o.write {
		return r.rewrite(ctx, name, f)
	}
	_, err = r.through(ctx, name, f, r.out())
	return err
}

// out is where covered text goes.
func (r *redaction) out() io.Writer {
	if r.o.check || r.o.json {
		return io.Discard
	}
	return r.stdout
}

// through covers what in holds and reports whether that changed anything.
func (r *redaction) through(ctx context.Context, name string, in io.Reader, out io.Writer) (changed bool, err error) {
	switch {
	case r.o.as == asJSON:
		return r.documents(ctx, name, in, out)
	case r.o.tells() || r.plan != nil:
		return r.whole(ctx, name, in, out)
	}
	return r.flow(ctx, in, out)
}

// flow covers a text of any length as it comes. After an interrupt what was read
// is passed on.
func (r *redaction) flow(ctx context.Context, in io.Reader, out io.Writer) (changed bool, err error) {
	var stream *redact.Stream
	first, raw := true, false
	for piece := range pieces(ctx, in, &err) {
		if first {
			raw = r.o.as == asAuto && binary(piece)
			first, stream = false, r.scanner.Stream()
		}
		safe, hits := string(piece), []redact.Hit(nil)
		if !raw {
			safe, hits = stream.Write(safe)
		}
		changed = changed || len(hits) > 0
		if err := write(out, safe); err != nil {
			return changed, err
		}
	}
	if stream == nil {
		return false, err
	}
	safe, hits := stream.Close()
	return changed || len(hits) > 0, errors.Join(err, write(out, safe))
}

// whole covers a text that is in memory, and tells where.
func (r *redaction) whole(ctx context.Context, name string, in io.Reader, out io.Writer) (changed bool, err error) {
	text, err := io.ReadAll(io.LimitReader(in, maxRedactBytes+1))
	switch {
	case err != nil:
		return false, err
	case len(text) > maxRedactBytes:
		return false, fmt.Errorf("over %d bytes, too much for one text; without --check, --report, --json and a plan it streams", maxRedactBytes)
	case r.o.as == asAuto && binary(text):
		if r.o.check || r.o.report {
			fmt.Fprintf(r.stderr, "gatehouse: redact: %s is binary and was not looked at; --as text looks\n", escapeControl(shown(name)))
		}
		_, err := out.Write(text)
		return false, err
	}
	if r.plan != nil {
		covered, findings, err := r.plan.String(ctx, string(text))
		r.tell(pointersOf(name, 1, findings))
		return len(findings) > 0, errors.Join(err, write(out, covered))
	}
	covered, hits := r.scanner.String(string(text))
	r.tell(r.placesOf(name, string(text)))
	return len(hits) > 0, write(out, covered)
}

// document is string for a JSON document.
func (r *redaction) document(ctx context.Context, document json.RawMessage) (json.RawMessage, []redact.Finding, error) {
	if r.plan != nil {
		return r.plan.JSON(ctx, document)
	}
	covered, findings := r.scanner.JSON(document)
	return covered, findings, nil
}

// binary reports whether text begins like a binary file.
func binary(text []byte) bool { return bytes.IndexByte(text[:min(len(text), binaryLook)], 0) >= 0 }

func write(out io.Writer, text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(out, text)
	return err
}

// documents covers JSON documents one by one; what stands between them stays.
func (r *redaction) documents(ctx context.Context, name string, in io.Reader, out io.Writer) (changed bool, err error) {
	d := newDocuments(in)
	for ctx.Err() == nil {
		between, document, line, err := d.next()
		if err := write(out, string(between)); err != nil {
			return changed, err
		}
		if errors.Is(err, io.EOF) {
			return changed, nil
		}
		if err != nil {
			return changed, fmt.Errorf("line %d: %w; nothing from there on was printed", line, err)
		}
		covered, findings, err := r.document(ctx, document)
		if err != nil {
			return changed, err
		}
		changed = changed || len(findings) > 0
		r.tell(pointersOf(name, line, findings))
		if err := write(out, string(covered)); err != nil {
			return changed, err
		}
	}
	return changed, ctx.Err()
}

// documents splits a text into JSON documents.
type documents struct {
	decoder *json.Decoder
	read    bytes.Buffer // what the decoder has read beyond the last document
	at      int64        // of the first byte of read
	line    int          // in which that byte stands, from 1
	bound   *io.LimitedReader
}

func newDocuments(in io.Reader) *documents {
	d := &documents{line: 1, bound: &io.LimitedReader{R: in}}
	d.decoder = json.NewDecoder(io.TeeReader(d.bound, &d.read))
	return d
}

// next returns the text before the next document, the document and its line. At
// the end the text is what is left, with [io.EOF]; after an error there is none.
func (d *documents) next() (between []byte, document json.RawMessage, line int, err error) {
	d.bound.N = maxRedactBytes
	err = d.decoder.Decode(&document)
	if d.bound.N == 0 {
		return nil, nil, d.line, fmt.Errorf("a document of over %d bytes", maxRedactBytes)
	}
	if errors.Is(err, io.EOF) {
		return d.read.Bytes(), nil, d.line, err
	}
	if err != nil {
		read := d.read.Bytes()
		before := read[:len(read)-len(bytes.TrimLeft(read, " \t\r\n"))]
		return nil, nil, d.line + bytes.Count(before, []byte("\n")), err
	}
	end := d.decoder.InputOffset()
	between = bytes.Clone(d.read.Next(int(end-d.at) - len(document)))
	line = d.line + bytes.Count(between, []byte("\n"))
	d.read.Next(len(document))
	d.at, d.line = end, line+bytes.Count(document, []byte("\n"))
	return between, document, line, nil
}
