package redact

import (
	"slices"
	"strings"
)

// maxFiller bounds the texts that filler judges, in bytes, so that a long run
// is not read once for every prefix in it.
const maxFiller = 64

// filler reports whether the body of a token only holds the place of one, as
// documentation writes it: words of one case of which one says so
// ("your-api-key-here"), or mostly one letter. A random body of ten bytes is one
// with less than one chance in ten thousand; one of twenty letters of one case,
// with about one in a hundred.
func filler(body string) bool {
	if len(body) > maxFiller || body == "" {
		return false
	}
	var count [256]uint8
	most := uint8(0)
	for i := range len(body) {
		b := body[i]
		count[b]++
		most = max(most, count[b])
	}
	if 2*int(most) > len(body) || 2*int(count['x']+count['X']) > len(body) {
		return true
	}
	return oneCased(body) && holdsAny(strings.ToLower(body), fillerWords)
}

// wordy is filler of a value that nothing but its place calls a secret: any word
// of one case may stand there.
func wordy(value string) bool { return filler(value) || len(value) <= maxFiller && oneCased(value) }

// oneCased reports whether s has no digit, and letters of one case at most.
func oneCased(s string) bool {
	var lower, upper bool
	for i := range len(s) {
		b := s[i]
		if digits[b] {
			return false
		}
		lower, upper = lower || 'a' <= b && b <= 'z', upper || 'A' <= b && b <= 'Z'
	}
	return !lower || !upper
}

func holdsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// fillerWords stand in what holds the place of a token.
var fillerWords = strings.Fields("your token secret here example xxxx placeholder dummy sample insert replace changeme fake redact api_key api-key apikey " +
	"test abcdef value string goes todo real actual valid access some-")

// fillable reports whether bodies of parts are varied and long enough for
// filler to judge them.
func fillable(parts []part) bool {
	long := 0
	for _, p := range parts {
		if p.lit == "" && p.set['a'] && p.set['z'] && p.set['A'] && p.set['Z'] && p.set['0'] {
			long += p.min
		}
	}
	return long >= 10
}

// opaque reports whether a value that something else than its form calls a
// credential looks like one: long, and not made of words.
func opaque(value string, least int) bool {
	if len(value) < least || wordy(value) {
		return false
	}
	var lower, upper, digit int
	for i := range len(value) {
		switch b := value[i]; {
		case b >= '0' && b <= '9':
			digit++
		case b >= 'a' && b <= 'z':
			lower++
		case b >= 'A' && b <= 'Z':
			upper++
		}
	}
	return digit > 0 && lower > 0 && upper > 0 || digit >= 4 || lower > 0 && upper > 0 && len(value) <= maxFiller && !wordlike(value)
}

// nameLike reports whether a value may be the name of a variable: words, and few
// digits.
func nameLike(value string) bool {
	n := 0
	for i := range len(value) {
		if digits[value[i]] {
			n++
		}
	}
	return n < 3 && wordlike(value)
}

// standIn reports whether a password only stands for one: a variable, a
// template, a mask, a word such as "password", or the name of its user.
func standIn(user, password string) bool {
	switch {
	case password == "" || password == user || strings.Contains(password, placeholderStart) && len(uncovered(password)) < minValue:
		return true
	case strings.Contains(password, "${") || strings.Contains(password, "$(") || strings.Contains(password, "{{"):
		return true
	case password[0] == '$' && run(password, 1, &word) == len(password):
		return true
	case password[0] == '%' && len(password) <= 3 || strings.Trim(password, "*xX.#•…") == "":
		return true
	case enclosed(password, "{}") || enclosed(password, "[]") || enclosed(password, "<>") || enclosed(password, "%%"):
		return true
	}
	return len(password) <= maxStandIn && standInWords[strings.ToLower(withoutMarks.Replace(password))]
}

// maxStandIn bounds the passwords that are looked up among words, in bytes.
const maxStandIn = 32

var withoutMarks = strings.NewReplacer("-", "", "_", "")

// uncovered is s without the placeholders in it.
func uncovered(s string) string {
	for i := 0; ; {
		n := strings.Index(s[i:], placeholderStart)
		if n < 0 {
			return s
		}
		i += n
		if end := strings.IndexByte(s[i:], ']') + 1; end > 0 && isPlaceholder(s[i:i+end]) {
			s = s[:i] + s[i+end:]
		} else {
			i++
		}
	}
}

func enclosed(s, pair string) bool {
	return len(s) > 1 && s[0] == pair[0] && s[len(s)-1] == pair[1]
}

// standInWords are passwords of documentation, without - and _.
var standInWords = map[string]bool{
	"password": true, "passwd": true, "passw": true, "pass": true, "pwd": true, "pw": true, "secret": true,
	"yourpassword": true, "mypassword": true, "dbpassword": true, "userpassword": true, "changeme": true,
	"yourpass": true, "dbpass": true, "token": true, "yourtoken": true, "apikey": true, "yourapikey": true,
	"mysecretpassword": true, "examplepassword": true, "example": true, "redacted": true, "hidden": true,
}
