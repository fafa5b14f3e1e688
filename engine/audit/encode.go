package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// A line is one record as a JSON object with its members in the order of
// [Record], so that h stands at the very end:
//
//	{"seq":7,"time":"…","boot":"…","kind":…,"prev":"…","h":"…"}
//
// and what h covers is prev and the line without `,"h":"…"`, byte by byte. No
// reader has to write a record again to check it.

// tailBytes is the length of a line's end, from `,"h":"` on, without the newline.
const tailBytes = len(`,"h":""}`) + 2*sha256.Size

// zeroHash stands for the hash before the first record.
const zeroHash = "0000000000000000000000000000000000000000000000000000000000000000"

// body encodes a record from "kind" to what stands before "prev", within the
// bounds, with the digests that the log sets.
func (l *Log) body(r *Record) ([]byte, error) {
	if r.Kind == "" {
		return nil, errors.New("it has no kind")
	}
	f := l.current.Load()
	r.ConfigDigest = f.config
	if r.Policy != nil {
		p := *r.Policy
		p.Digest = f.digest(p.Revision)
		r.Policy = &p
	}
	if r.Input != nil {
		r.Input = l.digested(r.Input)
	}
	bound(r, looseBounds)
	body, err := encodeBody(r)
	if err == nil && len(body) > maxBody {
		bound(r, tightBounds)
		body, err = encodeBody(r)
	}
	return body, err
}

func encodeBody(r *Record) ([]byte, error) { return appendBody(make([]byte, 0, 1024), r) }

// digested stands for an input without telling it.
func (l *Log) digested(in *Input) *Input {
	mac := hmac.New(sha256.New, l.inputKey)
	mac.Write(in.Raw)
	out := &Input{Bytes: len(in.Raw), HMAC: hex.EncodeToString(mac.Sum(nil))}
	if !l.options.NoExcerpts {
		out.Excerpt = in.Excerpt
	}
	return out
}

// chain is the end of a log so far.
type chain struct {
	seq      int64  // of the next record
	prev     string // hash of the last one
	unsigned int    // records since the last checkpoint

	unsignedSince time.Time // of the first of them
}

// line appends the next line of the chain to buf.
func (c *chain) line(buf []byte, now time.Time, boot string, body []byte) []byte {
	start := len(buf)
	buf = strconv.AppendInt(append(buf, `{"seq":`...), c.seq, 10)
	buf = now.AppendFormat(append(buf, `,"time":"`...), time.RFC3339Nano)
	buf = append(append(append(buf, `","boot":"`...), boot...), `",`...)
	buf = append(buf, body...)
	buf = append(append(append(buf, `,"prev":"`...), c.prev...), `"}`...)
	sum := recordHash(c.prev, buf[start:len(buf)-1])
	buf = append(buf[:len(buf)-1], `,"h":"`...)
	at := len(buf)
	buf = hex.AppendEncode(buf, sum[:])
	c.prev = string(buf[at:])
	c.seq++
	if c.unsigned == 0 {
		c.unsignedSince = now
	}
	c.unsigned++
	return append(buf, '"', '}', '\n')
}

// recordHash is the hash of a record whose line is open, which is without its h
// and the brace behind it.
func recordHash(prev string, open []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(open)
	h.Write([]byte{'}'})
	h.Sum(sum[:0])
	return sum
}

func hexString(b []byte) string { return hex.EncodeToString(b) }
