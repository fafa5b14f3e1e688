package redact

import (
	"math"
	"slices"
	"strings"
)

// credible reports whether a value that a name calls a secret is one: not a
// variable, a call, a path, an example, a name of something, or a digest. before
// is what stands in front of it.
func credible(value string, quoted, strong bool, before string) bool {
	if len(value) < minSecret || len(value) > maxSecret || refers(value, quoted) || isExample(value) || isPublic(value) {
		return false
	}
	c := countClasses(value)
	switch {
	case c.other == 0 && c.digit == 0, c.letter() == 0 && c.other == 0: // words; numbers and dates
		return false
	case isDigest(value, &c) && (!strong || saysDigest(before)):
		return false
	case wordlike(value) && !(strong && quoted && c.other > 0):
		return false
	}
	return entropy(value) >= leastEntropy(len(value), strong, &c)
}

// leastEntropy is the bound in bits per byte. Chosen passwords are short and
// repeat letters; what a machine makes is long and does not.
func leastEntropy(n int, strong bool, c *classes) float64 {
	switch {
	case c.hexOnly:
		return 2.8
	case strong && n < 20:
		return 2.5
	case strong || n < 20:
		return 3.0
	}
	return 3.5
}

// entropy is that of the frequencies of the bytes, in bits per byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// classes counts the bytes of a value by sort. Other are those that names do not
// have: not a letter, a digit or one of - _ . : / + =
type classes struct {
	lower, upper, digit, other int
	hexOnly                    bool // 0-9 and a-f, or 0-9 and A-F
}

func (c *classes) letter() int { return c.lower + c.upper }

func countClasses(s string) classes {
	c := classes{hexOnly: run(s, 0, &hexAny) == len(s)}
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z':
			c.lower++
		case 'A' <= b && b <= 'Z':
			c.upper++
		case '0' <= b && b <= '9':
			c.digit++
		case strings.IndexByte("-_.:/+=", b) < 0:
			c.other++
		}
	}
	c.hexOnly = c.hexOnly && (c.lower == 0 || c.upper == 0)
	return c
}

// refers reports whether a value only says where a secret is: a variable, a
// call, a path, an address, a template, several words.
func refers(v string, quoted bool) bool {
	switch {
	case strings.ContainsAny(v, " \t") || strings.IndexByte("$<{(@*!&|#/~.", v[0]) >= 0 && !(quoted && hasOther(v)):
		return true
	case strings.HasPrefix(v, "%(") || strings.Contains(v, "${") || strings.Contains(v, "{{") || strings.Contains(v, "$(") || strings.Contains(v, "://"):
		return true
	case len(v) > 2 && v[1] == ':' && v[2] == '\\':
		return true
	}
	if !quoted {
		return strings.ContainsAny(v, "([{") || dottedName(v) || strings.HasPrefix(v, "-")
	}
	return strings.HasPrefix(v, "$") && run(v, 1, &word) == len(v) || strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") ||
		strings.HasPrefix(v, "../") || strings.HasPrefix(v, "~/") || v[0] == '<' || v[0] == '{' || enclosed(v, "%%")
}

func hasOther(v string) bool { c := countClasses(v); return c.other > 0 && c.digit > 0 }

// dottedName reports whether v is a path of names in source code, as cfg.Token2.
func dottedName(v string) bool {
	parts := strings.Split(v, ".")
	for _, p := range parts {
		if p == "" || '0' <= p[0] && p[0] <= '9' || run(p, 0, &word) != len(p) || len(p) > 24 {
			return false
		}
	}
	return len(parts) > 1
}

// exampleParts stand in values of documentation and of templates; shortParts do
// so unless much else stands there too.
var (
	exampleParts = []string{"example", "changeme", "change-me", "change_me", "placeholder", "redacted", "your-", "your_", "yourpass", "yourtoken",
		"yoursecret", "yourapikey", "xxxx", "****", "....", "____", "----", "dummy", "undefined", "localhost", "insert"}
	shortParts = []string{"password", "passwd", "secret", "12345678"}
)

// muchElse is how much that is, in bytes.
const muchElse = 12

func isExample(v string) bool {
	low := strings.ToLower(v)
	holds := func(part string) bool { return strings.Contains(low, part) }
	if slices.ContainsFunc(exampleParts, holds) || len(v) < len("password")+muchElse && slices.ContainsFunc(shortParts, holds) {
		return true
	}
	return wordy(v)
}

// publicParts begin values that anyone may see.
var publicParts = []string{"sha1-", "sha256-", "sha384-", "sha512-", "sha1:", "sha256:", "sha384:", "sha512:", "md5:", "h1:", "data:", "ssh-", "ecdsa-",
	"AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "-----BEGIN PUBLIC", "-----BEGIN CERT", "arn:", "urn:", "vault:", "op:", "projects/", "process.env", "os.environ", "env.", "ENV["}

// isPublic reports whether v is an integrity value, a public key, an identifier
// or a date.
func isPublic(v string) bool {
	for _, p := range publicParts {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return isUUID(v) || isDate(v)
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (v[i] == '-') || !dash && !hexAny[v[i]] {
			return false
		}
	}
	return true
}

// isDate accepts what begins like 2006-01-02 and holds only what times are
// written with.
func isDate(v string) bool {
	if len(v) < 10 || v[4] != '-' || v[7] != '-' {
		return false
	}
	return strings.Trim(v, "0123456789-:.+TZ") == ""
}

// isDigest reports whether v has the form of a digest of a common length.
func isDigest(v string, c *classes) bool {
	if !c.hexOnly {
		return false
	}
	switch len(v) {
	case 32, 40, 56, 64, 96, 128:
		return true
	}
	return false
}

var digestWords = []string{"sha", "commit", "rev", "digest", "hash", "checksum", "integrity", "etag", "md5", "fingerprint"}

// saysDigest reports whether a text speaks of one.
func saysDigest(before string) bool {
	low := strings.ToLower(before)
	for _, w := range digestWords {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// maxWordDigits is how many digits a part of a name has at most.
const maxWordDigits = 4

// wordlike reports whether v is a name: parts that are words, or words with a
// few digits behind, or short numbers, between - _ . : and /
func wordlike(v string) bool {
	for v != "" {
		cut := strings.IndexAny(v, "-_.:/")
		if cut < 0 {
			cut = len(v)
		}
		part := v[:cut]
		v = v[min(len(v), cut+1):]
		n := run(part, 0, &letters)
		end := run(part, n, &digits)
		if end != len(part) || end-n > maxWordDigits || !oneCase(part[:n]) {
			return false
		}
	}
	return true
}

// oneCase reports whether a word is written as words and names in code are: few
// changes of case.
func oneCase(s string) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		if (s[i] >= 'a') != (s[i-1] >= 'a') {
			changes++
		}
	}
	return changes <= len(s)/3+1
}
