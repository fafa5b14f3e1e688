package redact

import "slices"

// keyFormats are keys of cryptography rather than of a vendor.
func keyFormats() []format {
	return slices.Concat(
		[]format{
			{kind: "private-key", prefix: "-----BEGIN ", glued: true, find: findPEM, goOn: pemGoOn},
			{kind: "private-key", prefix: "---- BEGIN ", glued: true, find: findPEM, goOn: pemGoOn},
			{kind: "private-key", prefix: "PuTTY-User-Key-File-", glued: true, find: findPuTTY, goOn: pemGoOn},
			{kind: "jwt", prefix: "eyJ", find: findJWT, rest: &dotted},
		},
		encodedPEM(),
		each(func(p string) format { return atLeast("age", p, &uppers, 50) }, "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"),
		each(func(p string) format { return after(sequence("wireguard", p, of(&base64body, 43), lit("="))) },
			"PrivateKey = ", "PrivateKey=", "PresharedKey = ", "PresharedKey="),
		// Extended private keys of wallets: 111 characters of base58.
		each(func(p string) format { return exactly("wallet", p, &alnum, 107) }, "xprv", "yprv", "zprv", "tprv"),
		[]format{exactly("nostr", "nsec1", &lowers, 58)},
	)
}

var base64body = chars("azAZ09", "+/")

const (
	minJWTPart = 10 // bytes of a header or of a claims set
	// A header with a chain of certificates is long; after a dash, where every
	// dash of a long run could begin one, it must be short.
	maxJWTHeader      = 16 << 10
	maxJWTHeaderAfter = 512
)

// findJWT finds header.payload.signature, of which the signature may be empty or
// the payload kept elsewhere, and the five parts of an encrypted token.
func findJWT(s string, start int, final bool) (from, end int, v verdict) {
	limit := maxJWTHeader
	if start > 0 && s[start-1] == '-' {
		limit = maxJWTHeaderAfter
	}
	var ends [5]int
	parts, i := 0, start
	for parts < len(ends) {
		window := s
		if parts == 0 {
			window = s[:min(len(s), start+limit)]
		}
		if i = run(window, i, &token); i == len(s) && !final {
			return start, i, unsettled
		}
		ends[parts] = i
		parts++
		if i == len(s) || s[i] != '.' {
			break
		}
		i++
		if parts == 1 && ends[0]-start < minJWTPart {
			return 0, 0, absent
		}
	}
	if end = jwtEnd(start, ends[:parts]); end == 0 {
		return 0, 0, absent
	}
	return start, end, present
}

// jwtEnd returns the end of the token whose parts end at ends, or 0.
func jwtEnd(start int, ends []int) int {
	size := func(i int) int { return ends[i] - ends[i-1] - 1 }
	switch {
	case len(ends) < 3 || ends[0]-start < minJWTPart:
		return 0
	case len(ends) == 5 && (size(2) == 16 || size(2) == 22) && size(4) >= 16:
		return ends[4]
	case size(1) >= minJWTPart || size(1) == 0 && size(2) >= 2*minJWTPart:
		return ends[2]
	}
	return 0
}
