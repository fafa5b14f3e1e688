package redact

import "strings"

// part is a piece of a format: a literal, or min to max bytes of a set.
type part struct {
	lit      string
	set      *charset
	min, max int // max 0: no bound
}

func lit(s string) part                       { return part{lit: s} }
func of(set *charset, n int) part             { return part{set: set, min: n, max: n} }
func between(set *charset, min, max int) part { return part{set: set, min: min, max: max} }
func many(set *charset, min int) part         { return part{set: set, min: min} }

// atLeast is prefix and then n bytes of body or more.
func atLeast(kind, prefix string, body *charset, n int) format {
	return sequence(kind, prefix, many(body, n))
}

// exactly is prefix and then n bytes of body, with no letter, digit or _ after them.
func exactly(kind, prefix string, body *charset, n int) format {
	return sequence(kind, prefix, of(body, n))
}

// sequence is prefix and then the parts, each as long as it can be: a part
// must not be able to swallow the beginning of the next. After a last part
// that is bounded stands no letter, digit or _, and no byte of its set. What
// only fills the place of a secret is none.
func sequence(kind, prefix string, parts ...part) format {
	last := parts[len(parts)-1]
	f := format{kind: kind, prefix: prefix}
	if last.lit == "" && last.max == 0 {
		f.rest = last.set
	}
	varied := fillable(parts)
	f.find = func(s string, start int, final bool) (int, int, verdict) {
		first := start + len(prefix)
		end, v := matchParts(parts, s, first, final)
		switch {
		case v == unsettled:
			return start, end, unsettled
		case v == absent:
			return 0, 0, absent
		case f.rest == nil && end < len(s) && (word[s[end]] || last.lit == "" && last.set[s[end]] && s[end] != '.'):
			return 0, 0, absent
		case varied && filler(s[first:end]):
			return 0, 0, absent
		}
		for last.lit == "" && last.set['.'] && s[end-1] == '.' {
			end-- // that of a sentence
		}
		return start, end, present
	}
	return f
}

// matchParts returns the end of the parts at s[i:].
func matchParts(parts []part, s string, i int, final bool) (end int, v verdict) {
	for _, p := range parts {
		if p.lit != "" {
			if rest := s[i:min(len(s), i+len(p.lit))]; rest == p.lit {
				i += len(p.lit)
				continue
			} else if final || i+len(rest) < len(s) || !strings.HasPrefix(p.lit, rest) {
				return 0, absent
			}
			return len(s), unsettled
		}
		limit := len(s)
		if p.max > 0 {
			limit = min(limit, i+p.max)
		}
		end = run(s[:limit], i, p.set)
		if end == len(s) && !final {
			return end, unsettled
		}
		if end-i < p.min {
			return 0, absent
		}
		i = end
	}
	if i == len(s) && !final {
		return i, unsettled
	}
	return i, present
}

// after makes a format cover only what follows its prefix.
func after(f format) format {
	find, n := f.find, len(f.prefix)
	f.find = func(s string, start int, final bool) (from, end int, v verdict) {
		if from, end, v = find(s, start, final); v != absent {
			from = min(start+n, end)
		}
		return from, end, v
	}
	return f
}

// apart makes a dash after a letter or a digit no place where a short prefix may
// begin: there it is more often a part of base64, unless the number of a line
// stands between two of them, as grep writes it.
func apart(f format) format {
	find := f.find
	f.find = func(s string, start int, final bool) (from, end int, v verdict) {
		if start > 1 && s[start-1] == '-' && alnum[s[start-2]] && !numbered(s, start-2) {
			return 0, 0, absent
		}
		return find(s, start, final)
	}
	return f
}

// numbered reports whether a number that ends at s[i] follows a dash.
func numbered(s string, i int) bool {
	n := i
	for n >= 0 && i-n < 7 && digits[s[n]] {
		n--
	}
	return n >= 0 && n < i && s[n] == '-'
}

// each makes one format for every prefix.
func each(f func(prefix string) format, prefixes ...string) []format {
	out := make([]format, len(prefixes))
	for i, p := range prefixes {
		out[i] = f(p)
	}
	return out
}
