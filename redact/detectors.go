package redact

import "strings"

// charset is a set of bytes.
type charset [256]bool

func chars(ranges string, extra string) (c charset) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	for i := range len(extra) {
		c[extra[i]] = true
	}
	return c
}

var (
	alnum   = chars("azAZ09", "")
	word    = chars("azAZ09", "_")
	token   = chars("azAZ09", "_-")
	dashed  = chars("azAZ09", "-")
	awsBody = chars("AZ27", "")
)

// detector is one format: a prefix, then a run of body bytes.
type detector struct {
	name   string
	prefix string
	body   *charset
	min    int  // body bytes at least
	exact  bool // exactly min body bytes, with no letter, digit or _ after them
	glued  bool // the prefix is telling enough to count inside a longer word
	find   func(s string, start int) (end int, ok bool)
}

// detectors are tried in order at each position: the more specific prefix first.
var detectors = []detector{
	{name: "anthropic", prefix: "sk-ant-", body: &token, min: 20, glued: true},
	{name: "openai", prefix: "sk-proj-", body: &token, min: 20, glued: true},
	{name: "openai", prefix: "sk-svcacct-", body: &token, min: 20, glued: true},
	{name: "openai", prefix: "sk-admin-", body: &token, min: 20, glued: true},
	{name: "openai", prefix: "sk-", body: &alnum, min: 32},
	{name: "github", prefix: "ghp_", body: &alnum, min: 36, glued: true},
	{name: "github", prefix: "gho_", body: &alnum, min: 36, glued: true},
	{name: "github", prefix: "ghu_", body: &alnum, min: 36, glued: true},
	{name: "github", prefix: "ghs_", body: &alnum, min: 36, glued: true},
	{name: "github", prefix: "ghr_", body: &alnum, min: 36, glued: true},
	{name: "github", prefix: "github_pat_", body: &word, min: 40, glued: true},
	{name: "gitlab", prefix: "glpat-", body: &token, min: 20, glued: true},
	{name: "aws", prefix: "AKIA", body: &awsBody, min: 16, exact: true},
	{name: "aws", prefix: "ASIA", body: &awsBody, min: 16, exact: true},
	{name: "slack", prefix: "xoxb-", body: &dashed, min: 10, glued: true},
	{name: "slack", prefix: "xoxp-", body: &dashed, min: 10, glued: true},
	{name: "slack", prefix: "xoxa-", body: &dashed, min: 10, glued: true},
	{name: "slack", prefix: "xoxr-", body: &dashed, min: 10, glued: true},
	{name: "slack", prefix: "xoxs-", body: &dashed, min: 10, glued: true},
	{name: "slack", prefix: "xoxe-", body: &dashed, min: 10, glued: true},
	{name: "stripe", prefix: "sk_live_", body: &alnum, min: 16, glued: true},
	{name: "stripe", prefix: "rk_live_", body: &alnum, min: 16, glued: true},
	{name: "google", prefix: "AIza", body: &token, min: 35},
	{name: "npm", prefix: "npm_", body: &alnum, min: 36, glued: true},
	{name: "pypi", prefix: "pypi-", body: &token, min: 50, glued: true},
	{name: "jwt", prefix: "eyJ", find: findJWT},
	{name: "private-key", prefix: "-----BEGIN ", glued: true, find: findPEM},
}

// byFirst lists the detectors whose prefix begins with a byte.
var byFirst = func() (t [256][]*detector) {
	for i := range detectors {
		first := detectors[i].prefix[0]
		t[first] = append(t[first], &detectors[i])
	}
	return t
}()

// match reports the end of a secret that begins at start.
func (d *detector) match(s string, start int) (end int, ok bool) {
	if !strings.HasPrefix(s[start:], d.prefix) || !d.glued && !boundary(s, start) {
		return 0, false
	}
	if d.find != nil {
		return d.find(s, start)
	}
	body := start + len(d.prefix)
	end = run(s, body, d.body)
	if end-body < d.min {
		return 0, false
	}
	if d.exact {
		end = body + d.min
		return end, end == len(s) || !word[s[end]]
	}
	return end, true
}

// run returns the end of the bytes of set that begin at i.
func run(s string, i int, set *charset) int {
	for i < len(s) && set[s[i]] {
		i++
	}
	return i
}

// boundary reports whether a word may begin at i. The letter of an escape
// such as \n counts as one, because texts hold JSON that is still encoded.
func boundary(s string, i int) bool {
	if i == 0 || !word[s[i-1]] {
		return true
	}
	return i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0
}

// minJWTPart is the shortest base64 text of a header or of a claims set.
const minJWTPart = 10

// findJWT matches header.payload.signature; the signature may be empty.
func findJWT(s string, start int) (end int, ok bool) {
	dot := run(s, start, &token)
	if dot-start < minJWTPart || dot == len(s) || s[dot] != '.' {
		return 0, false
	}
	second := run(s, dot+1, &token)
	if second-dot-1 < minJWTPart || second == len(s) || s[second] != '.' {
		return 0, false
	}
	return run(s, second+1, &token), true
}

// maxPEMLabel bounds the label of a PEM block, in bytes.
const maxPEMLabel = 64

// findPEM matches a private key block up to the end of its footer. A block that
// was cut off is covered to the end of the text.
func findPEM(s string, start int) (end int, ok bool) {
	label := s[start+len("-----BEGIN "):]
	close := strings.Index(label[:min(len(label), maxPEMLabel)], "-----")
	if close < 0 || !strings.Contains(label[:close], "PRIVATE KEY") {
		return 0, false
	}
	footer := "-----END " + label[:close] + "-----"
	if i := strings.Index(s[start:], footer); i >= 0 {
		return start + i + len(footer), true
	}
	return len(s), true
}
