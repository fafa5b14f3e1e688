package module

import (
	"fmt"
	"unicode/utf8"
)

// reader reads the binary format strictly. After the first error everything it
// reads is zero, so that callers look at err once.
type reader struct {
	b    []byte
	at   int
	base int // offset of b in the file
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("offset %#x: %w", r.base+r.at, fmt.Errorf(format, args...))
	}
}

func (r *reader) left() int { return len(r.b) - r.at }

func (r *reader) more() bool { return r.err == nil && r.left() > 0 }

func (r *reader) byte(what string) byte {
	if r.err != nil {
		return 0
	}
	if r.left() == 0 {
		r.fail("%s is cut off", what)
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// bytes are the next n bytes, which are not copied.
func (r *reader) bytes(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.left() {
		r.fail("%s has %d bytes, but %d are left", what, n, r.left())
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

// sub reads a size and gives a reader of as many bytes.
func (r *reader) sub(what string) *reader {
	n := int(r.u32(what + " size"))
	base := r.base + r.at
	return &reader{b: r.bytes(n, what), base: base, err: r.err}
}

// done fails unless everything was read.
func (r *reader) done(what string) error {
	if r.err == nil && r.left() > 0 {
		r.fail("%d bytes too many in the %s", r.left(), what)
	}
	return r.err
}

func (r *reader) u32(what string) uint32 { return uint32(r.leb(32, false, what)) }

func (r *reader) s32(what string) { r.leb(32, true, what) }

func (r *reader) s64(what string) { r.leb(64, true, what) }

// s33 is the number of a block type.
func (r *reader) s33(what string) int64 { return r.leb(33, true, what) }

// leb reads a LEB128 number of so many bits: no more bytes than it may have, and no
// bits in the last one that it does not have.
func (r *reader) leb(bits uint, signed bool, what string) int64 {
	var n int64
	for shift := uint(0); ; shift += 7 {
		c := r.byte(what)
		if r.err != nil {
			return 0
		}
		n |= int64(c&0x7f) << shift
		if rest := bits - shift; rest <= 7 && !fits(c, rest, signed) {
			r.at--
			r.fail("%s is no number of %d bits", what, bits)
			return 0
		}
		if c&0x80 != 0 {
			continue
		}
		if signed && c&0x40 != 0 && shift+7 < 64 {
			n |= -1 << (shift + 7)
		}
		return n
	}
}

// fits says whether the last byte of a number ends it and holds at most rest bits.
func fits(c byte, rest uint, signed bool) bool {
	if c&0x80 != 0 {
		return false
	}
	if !signed {
		return c>>rest == 0
	}
	sign := int8(c<<1) >> rest // all bits above the number's and its sign
	return sign == 0 || sign == -1
}

// count reads how many entries follow, each of at least one byte.
func (r *reader) count(what string, most int) int {
	n := r.u32("number of " + what)
	switch {
	case r.err != nil:
		return 0
	case int64(n) > int64(most):
		r.fail("%d %s, at most %d are allowed", n, what, most)
		return 0
	case int64(n) > int64(r.left()):
		r.fail("%d %s, but %d bytes are left", n, what, r.left())
		return 0
	}
	return int(n)
}

func (r *reader) name(what string) string {
	n := r.u32("length of " + what)
	if r.err == nil && n > maxName {
		r.fail("%s has %d bytes, at most %d are allowed", what, n, maxName)
	}
	b := r.bytes(int(n), what)
	if !utf8.Valid(b) {
		r.fail("%s is not valid UTF-8", what)
		return ""
	}
	return string(b)
}

// appendU32 appends a LEB128 number.
func appendU32(out []byte, n uint32) []byte {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
