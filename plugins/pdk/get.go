package pdk

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Scratch is kept between questions up to this many bytes, and begins smaller.
const (
	firstScratch = 4 << 10
	maxScratch   = 256 << 10
)

var scratch []byte

// Raw returns the part of the document that a pointer names: a string decoded, as
// it is, everything else as JSON text; "" names the whole document. It is empty
// where there is nothing: see [Has].
func Raw(pointer string) string {
	b, _ := ask(pointer)
	return string(b)
}

// Str is [Raw] by the name that reads better for strings.
func Str(pointer string) string { return Raw(pointer) }

// Has says whether the document has such a part; null is one.
func Has(pointer string) bool { return hostGet(pointer, nil) >= 0 }

// Bool says whether a part is true.
func Bool(pointer string) bool { return Raw(pointer) == "true" }

// Int returns a whole number, 0 for what is none; a string of digits counts. A
// fraction is cut off, and what is too large becomes the largest: a rule about a bound
// must not take 1e21 for 0.
func Int(pointer string) int64 {
	text := Raw(pointer)
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n
	}
	switch f := number(text); {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}

// Num returns a number, 0 for what is none; a string that reads as one counts. What
// is too large is infinite.
func Num(pointer string) float64 { return number(Raw(pointer)) }

// number reads what is written as JSON writes numbers: no "NaN", no "0x1p4".
func number(text string) float64 {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return n
}

// Child returns the pointer of an object's member, whatever its name.
func Child(pointer, member string) string {
	b := append(make([]byte, 0, len(pointer)+1+len(member)), pointer...)
	return string(appendStep(b, member))
}

// Item returns the pointer of a list's item, counted from 0.
func Item(pointer string, i int) string { return pointer + "/" + itoa(int64(i)) }

// Items returns the texts of a list as [Raw] would, nil for what is no list.
func Items(pointer string) []string {
	var items []string
	for {
		b, ok := ask(Item(pointer, len(items)))
		if !ok {
			return items
		}
		items = append(items, string(b))
	}
}

func appendStep(b []byte, member string) []byte {
	b = append(b, '/')
	for i := range len(member) {
		switch c := member[i]; c {
		case '~':
			b = append(b, '~', '0')
		case '/':
			b = append(b, '~', '1')
		default:
			b = append(b, c)
		}
	}
	return b
}

// ask returns a part; the bytes hold until the next question.
func ask(pointer string) ([]byte, bool) {
	return fill(func(dst []byte) int32 { return hostGet(pointer, dst) })
}

// fill asks again with enough room where the first answer was too large for it:
// the host tells the full size and copies nothing then.
func fill(get func(dst []byte) int32) ([]byte, bool) {
	if scratch == nil {
		scratch = make([]byte, firstScratch)
	}
	dst := scratch
	for range 2 {
		n := int(get(dst))
		if n < 0 {
			return nil, false
		}
		if n <= len(dst) {
			return dst[:n], true
		}
		dst = make([]byte, n)
		if n <= maxScratch {
			scratch = dst
		}
	}
	return nil, false
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
