package facts

import (
	"strings"
	"unicode/utf8"
)

// magic reports a pattern; braces are expanded before.
func magic(s string) bool { return strings.ContainsAny(s, "*?[") }

// matchSegment matches one path segment. Where shells differ it matches more:
// a class that is not understood meets any character, and so does one that is
// never closed meet itself.
func matchSegment(pattern, name string) bool {
	starAt, nameAt := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			starAt, nameAt = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if width, size := matchOne(pattern[p:], name[n:]); width > 0 {
				p, n = p+width, n+size
				continue
			}
		}
		if starAt < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[nameAt:])
		nameAt += size
		p, n = starAt+1, nameAt
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches the first element of a pattern against the first character
// of a name and returns how many bytes each took; 0 when they do not match.
func matchOne(pattern, name string) (width, size int) {
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size
	case '[':
		if width, ok := class(pattern, r); width > 0 {
			if !ok {
				return 0, 0
			}
			return width, size
		}
	}
	q, width := utf8.DecodeRuneInString(pattern)
	if q != r || q == utf8.RuneError && pattern[:width] != name[:size] {
		return 0, 0
	}
	return width, size
}

// class matches a bracket expression; width 0 says that it is none.
func class(pattern string, r rune) (width int, ok bool) {
	body := 1
	negated := len(pattern) > 1 && (pattern[1] == '!' || pattern[1] == '^')
	if negated {
		body++
	}
	end := body
	if end < len(pattern) && pattern[end] == ']' {
		end++ // in the first place it is a member
	}
	for end < len(pattern) && pattern[end] != ']' {
		if pattern[end] == '[' && end+1 < len(pattern) && strings.IndexByte(":.=", pattern[end+1]) >= 0 {
			if shut := strings.Index(pattern[end+2:], string(pattern[end+1])+"]"); shut >= 0 {
				end += 2 + shut + 1
			}
		}
		end++
	}
	if end >= len(pattern) {
		return 0, false
	}
	members := pattern[body:end]
	if strings.Contains(members, "[:") || strings.Contains(members, "[.") || strings.Contains(members, "[=") || strings.Contains(members, `\`) {
		return end + 1, true
	}
	return end + 1, member(members, r) != negated
}

func member(members string, r rune) bool {
	all := []rune(members)
	for i := 0; i < len(all); i++ {
		if i+2 < len(all) && all[i+1] == '-' {
			if all[i] <= r && r <= all[i+2] {
				return true
			}
			i += 2
			continue
		}
		if all[i] == r {
			return true
		}
	}
	return false
}
