package redact

import (
	"slices"
	"strings"
)

// urlFormats are passwords in connection strings. Only the password is covered:
// where it connects to is what one wants to read.
func urlFormats() []format {
	return slices.Concat(
		[]format{{kind: "url-password", prefix: "://", glued: true, place: true, find: findURL, rest: &userinfo}},
		each(func(p string) format {
			return format{kind: "connection-string", prefix: p, glued: true, place: true, rest: &userinfo,
				find: func(s string, start int, final bool) (from, end int, v verdict) {
					return password(s, start+len(p), final)
				}}
		}, ";Password=", "; Password=", ";Pwd=", "; Pwd=", ";PWD=", ";PASSWORD="),
		[]format{{kind: "connection-string", prefix: "sqlserver://", glued: true, place: true, find: findSQLServer, rest: &userinfo}},
	)
}

const (
	maxUserinfo = 448 // bytes before the @ of a URL; less than a stream holds back
	longUser    = 20  // bytes from which a user without password is a token
)

// userinfo are the bytes that may stand between :// and @, and authority those
// without /, ? and #, which a URL may hold only escaped.
var (
	userinfo  = printable(" \"'`<>\\")
	authority = printable(" \"'`<>\\/?#")
	adoValue  = printable(" \"'`<>\\;&")
)

// printable is ASCII from ! to ~ without some, and every byte of other letters.
func printable(without string) charset {
	c := chars("!~\x80\xff", "")
	for i := range len(without) {
		c[without[i]] = false
	}
	return c
}

// findURL covers the password in scheme://user:password@host, or a long user
// without one.
func findURL(s string, start int, final bool) (from, end int, v verdict) {
	if start == 0 || !alnum[s[start-1]] {
		return 0, 0, absent
	}
	first := start + len("://")
	window := s[:min(len(s), first+maxUserinfo)]
	stop := run(window, first, &authority)
	at := strings.LastIndexByte(window[first:stop], '@')
	if at < 0 && strings.IndexByte(window[first:stop], ':') >= 0 && slashes(s, start) {
		// A slash in the password itself, as in base64: wrong, but it works.
		stop = run(window, first, &userinfo)
		at = strings.LastIndexByte(window[first:stop], '@')
	}
	colon := strings.IndexByte(window[first:stop], ':')
	if stop == len(s) && !final {
		if colon < 0 || at >= 0 && at < colon {
			return stop, stop, unsettled
		}
		return first + colon + 1, stop, unsettled
	}
	if at < 0 || strings.HasPrefix(s[first+at+1:], "sha256:") { // what looks like a user is an image's name
		return 0, 0, absent
	}
	return credentials(s, first, first+at)
}

// slashes reports whether a password of this scheme may hold a slash: not where
// what follows the host is often a path with an @ in it.
func slashes(s string, start int) bool {
	before := s[max(0, start-lookBehind):start]
	return !strings.HasSuffix(before, "http") && !strings.HasSuffix(before, "https") && !strings.HasSuffix(before, "file")
}

// credentials covers the secret in s[first:at].
func credentials(s string, first, at int) (from, end int, v verdict) {
	if strings.HasPrefix(s[first:at], placeholderStart) {
		covered := strings.IndexByte(s[first:at], ']') // a user that is covered already
		if covered < 0 || first+covered+1 == at {
			return 0, 0, absent
		}
		first += covered + 1
	}
	user, secret, ok := strings.Cut(s[first:at], ":")
	if !ok {
		if len(user) >= longUser && run(user, 0, &token) == len(user) && opaque(user, longUser) && !ownForm(s, first, at) {
			return first, at, present
		}
		return 0, 0, absent
	}
	if i := strings.IndexByte(secret, '/'); i > 0 && run(secret, 0, &digits) == i {
		return 0, 0, absent // a port and a path
	}
	from = first + len(user) + 1
	if standIn(user, secret) || ownForm(s, from, at) {
		return 0, 0, absent
	}
	return from, at, present
}

// password covers the value at s[first:] in a list of name=value pairs.
func password(s string, first int, final bool) (from, end int, v verdict) {
	end = run(s[:min(len(s), first+maxUserinfo)], first, &adoValue)
	switch {
	case end == len(s) && !final:
		return first, end, unsettled
	case end == first || standIn("", s[first:end]):
		return 0, 0, absent
	}
	return first, end, present
}

// findSQLServer covers the password in sqlserver://host;user=…;password=….
func findSQLServer(s string, start int, final bool) (from, end int, v verdict) {
	first := start + len("sqlserver://")
	stop := run(s[:min(len(s), first+maxUserinfo)], first, &userinfo)
	i := indexFold(s[first:stop], ";password=")
	if i >= 0 {
		return password(s, first+i+len(";password="), final)
	}
	if stop == len(s) && !final {
		return stop, stop, unsettled
	}
	return 0, 0, absent
}

// indexFold is strings.Index where the case of a to z in s does not matter.
func indexFold(s, lowered string) int {
	for i := 0; i+len(lowered) <= len(s); i++ {
		if s[i]|0x20 == lowered[0]|0x20 && equalFold(s[i:i+len(lowered)], lowered) {
			return i
		}
	}
	return -1
}
