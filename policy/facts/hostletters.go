package facts

import (
	"strings"
	"unicode"
)

// asciiHost maps a host to what is asked for: letters lowered, wide,
// mathematical and circled letters and digits made plain, invisible characters
// dropped, other labels written as punycode. False for a label that has none.
func asciiHost(host string) (string, bool) {
	if isASCII(host) {
		return strings.ToLower(host), true
	}
	mapped := strings.Map(plainLetter, host)
	if isASCII(mapped) {
		return strings.ToLower(mapped), true
	}
	labels := strings.Split(strings.ToLower(mapped), ".")
	for i, label := range labels {
		if isASCII(label) {
			continue
		}
		code, ok := punycode(label)
		if !ok {
			return "", false
		}
		labels[i] = "xn--" + code
	}
	return strings.Join(labels, "."), true
}

// plainLetter undoes the spellings that hosts are folded from.
func plainLetter(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r == 0xAD || r == 0x200B || r == 0x2060 || r == 0xFEFF || r >= 0xFE00 && r <= 0xFE0F:
		return -1
	case r == 0x3002 || r == 0xFF0E || r == 0xFF61 || r == 0x2024:
		return '.'
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case r >= 0x1D7CE && r <= 0x1D7FF:
		return '0' + (r-0x1D7CE)%10
	case r >= 0x1D400 && r <= 0x1D6A3:
		r = (r - 0x1D400) % 52
		return 'a' + r%26
	case r >= 0x2460 && r <= 0x2468:
		return '1' + r - 0x2460
	case r >= 0x2474 && r <= 0x247C:
		return -2 // "(1)" holds what no host may
	case r >= 0x24B6 && r <= 0x24E9:
		return 'a' + (r-0x24B6)%26
	case r == 0x24EA:
		return '0'
	case r >= 0x2080 && r <= 0x2089:
		return '0' + r - 0x2080
	case r == 0x2070 || r >= 0x2074 && r <= 0x2079:
		return '0' + r - 0x2070
	case r == 0xB9 || r == 0xB2 || r == 0xB3:
		return '0' + map[rune]rune{0xB9: 1, 0xB2: 2, 0xB3: 3}[r]
	case r == 0xBA || r == 0x1D52 || r == 0x2092:
		return 'o'
	case r == 0xAA:
		return 'a'
	case r == 0x17F:
		return 's'
	case r == 0x212A:
		return 'k'
	}
	return unicode.ToLower(r)
}

// Parameters of punycode as it is fixed for hosts.
const (
	punyBase, punyMin, punyMax   = 36, 1, 26
	punySkew, punyDamp, punyBias = 38, 700, 72
	maxLabel                     = 63 // characters of one label
)

// punycode encodes a label with letters beyond ASCII. False for one that is
// too long or no text.
func punycode(label string) (string, bool) {
	runes := []rune(label)
	if len(runes) > maxLabel || strings.ContainsRune(label, unicode.ReplacementChar) {
		return "", false
	}
	var out []byte
	for _, r := range runes {
		if r < 0x80 {
			out = append(out, byte(r))
		}
	}
	p := puny{out: out, done: len(out), plain: len(out), bias: punyBias}
	if p.plain > 0 {
		p.out = append(p.out, '-')
	}
	for n := rune(0x80); p.done < len(runes); n++ {
		next := rune(unicode.MaxRune)
		for _, r := range runes {
			if r >= n {
				next = min(next, r)
			}
		}
		p.delta += int(next-n) * (p.done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				p.delta++
			} else if r == n {
				p.insert()
			}
		}
		p.delta++
	}
	return string(p.out), true
}

// puny is a label being encoded.
type puny struct {
	out         []byte
	done, plain int // characters written, and those of them that are ASCII
	delta, bias int
}

// insert writes where the next character goes and adapts the bias.
func (p *puny) insert() {
	q := p.delta
	for k := punyBase; ; k += punyBase {
		t := min(max(k-p.bias, punyMin), punyMax)
		if q < t {
			break
		}
		p.out = append(p.out, digit(t+(q-t)%(punyBase-t)))
		q = (q - t) / (punyBase - t)
	}
	p.out = append(p.out, digit(q))
	if p.done == p.plain {
		p.delta /= punyDamp
	} else {
		p.delta /= 2
	}
	p.done++
	p.delta += p.delta / p.done
	k := 0
	for ; p.delta > (punyBase-punyMin)*punyMax/2; k += punyBase {
		p.delta /= punyBase - punyMin
	}
	p.bias = k + (punyBase-punyMin+1)*p.delta/(p.delta+punySkew)
	p.delta = 0
}

func digit(d int) byte {
	if d < 26 {
		return byte('a' + d)
	}
	return byte('0' + d - 26)
}
