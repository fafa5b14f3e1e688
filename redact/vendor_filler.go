package redact

import "strings"

// maxFiller bounds the texts that filler judges, in bytes, so that a long run
// is not read once for every prefix in it.
const maxFiller = 64

// filler reports whether the body of a token only holds the place of one, as
// documentation writes it: words of one case ("your-api-key-here"), or mostly x.
// A random body of ten bytes is one with less than one chance in a thousand, one
// of twenty with less than one in ten million.
func filler(body string) bool {
	if len(body) > maxFiller {
		return false
	}
	var lower, upper, digit, x int
	for i := range len(body) {
		switch b := body[i]; {
		case b >= '0' && b <= '9':
			digit++
		case b >= 'a' && b <= 'z':
			lower++
		case b >= 'A' && b <= 'Z':
			upper++
		}
		if body[i]|0x20 == 'x' {
			x++
		}
	}
	return digit == 0 && (lower == 0 || upper == 0) || 2*x > len(body)
}

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
	if len(value) < least || filler(value) {
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
	return digit > 0 && lower > 0 && upper > 0 || digit >= 4
}

// nameLike reports whether a value may be the name of a variable: it has few digits.
func nameLike(value string) bool {
	n := 0
	for i := range len(value) {
		if digits[value[i]] {
			n++
		}
	}
	return n < 3
}

// standIn reports whether a password only stands for one: a variable, a
// template, a mask, a word such as "password", or the name of its user.
func standIn(user, password string) bool {
	switch {
	case password == "" || password == user || strings.Contains(password, placeholderStart):
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
	return standInWords[strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(password))]
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
