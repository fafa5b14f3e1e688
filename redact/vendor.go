package redact

import "strings"

// vendors are the formats that tell by themselves that they are secrets; they
// are always looked for. At one position the first that fits counts, so the more
// specific prefix stands first.
var vendors = []format{
	glued(atLeast("anthropic", "sk-ant-", &token, 20)),
	glued(atLeast("openai", "sk-proj-", &token, 20)),
	glued(atLeast("openai", "sk-svcacct-", &token, 20)),
	glued(atLeast("openai", "sk-admin-", &token, 20)),
	atLeast("openai", "sk-", &alnum, 32),
	glued(atLeast("github", "ghp_", &alnum, 36)),
	glued(atLeast("github", "gho_", &alnum, 36)),
	glued(atLeast("github", "ghu_", &alnum, 36)),
	glued(atLeast("github", "ghs_", &alnum, 36)),
	glued(atLeast("github", "ghr_", &alnum, 36)),
	glued(atLeast("github", "github_pat_", &word, 40)),
	glued(atLeast("gitlab", "glpat-", &token, 20)),
	exactly("aws", "AKIA", &awsBody, 16),
	exactly("aws", "ASIA", &awsBody, 16),
	glued(atLeast("slack", "xoxb-", &dashed, 10)),
	glued(atLeast("slack", "xoxp-", &dashed, 10)),
	glued(atLeast("slack", "xoxa-", &dashed, 10)),
	glued(atLeast("slack", "xoxr-", &dashed, 10)),
	glued(atLeast("slack", "xoxs-", &dashed, 10)),
	glued(atLeast("slack", "xoxe-", &dashed, 10)),
	glued(atLeast("stripe", "sk_live_", &alnum, 16)),
	glued(atLeast("stripe", "rk_live_", &alnum, 16)),
	atLeast("google", "AIza", &token, 35),
	glued(atLeast("npm", "npm_", &alnum, 36)),
	glued(atLeast("pypi", "pypi-", &token, 50)),
	{kind: "jwt", prefix: "eyJ", find: findJWT, rest: &token},
	{kind: "private-key", prefix: "-----BEGIN ", glued: true, find: findPEM},
}

// minJWTPart is the shortest base64 text of a header or of a claims set.
const minJWTPart = 10

// findJWT finds header.payload.signature; the signature may be empty.
func findJWT(s string, start int, final bool) (from, end int, v verdict) {
	end = start
	for part := range 3 {
		first := end
		if end = run(s, first, &token); end == len(s) && !final {
			return start, end, unsettled
		}
		if part == 2 {
			break
		}
		if end-first < minJWTPart || end == len(s) || s[end] != '.' {
			return 0, 0, absent
		}
		end++ // the dot
	}
	return start, end, present
}

// maxPEMLabel bounds the label of a PEM block, in bytes.
const maxPEMLabel = 64

// findPEM finds a private key block up to the end of its footer. A block that
// was cut off is covered to the end of the text.
func findPEM(s string, start int, final bool) (from, end int, v verdict) {
	label := s[start+len("-----BEGIN "):]
	stop := strings.Index(label[:min(len(label), maxPEMLabel)], "-----")
	switch {
	case stop < 0 && !final && len(label) < maxPEMLabel:
		return start, start, unsettled
	case stop < 0 || !strings.Contains(label[:stop], "PRIVATE KEY"):
		return 0, 0, absent
	}
	footer := "-----END " + label[:stop] + "-----"
	if i := strings.Index(s[start:], footer); i >= 0 {
		return start, start + i + len(footer), present
	}
	if !final {
		return start, len(s), unsettled
	}
	return start, len(s), present
}
