package redact

import (
	"encoding/base64"
	"slices"
	"strings"
)

// headerFormats are credentials that the name before them tells: HTTP headers
// and parameters of URLs that hold nothing else. Cookies are not among them,
// for most are no secrets.
func headerFormats() []format {
	return slices.Concat(
		[]format{
			{kind: "auth-header", prefix: "uthorization", glued: true, place: true, find: findAuthorization, rest: &credential},
			{kind: "auth-header", prefix: "UTHORIZATION", glued: true, place: true, find: findAuthorization, rest: &credential},
		},
		each(func(p string) format {
			return scheme("auth-header", p, func(v string) bool { return opaque(v, 20) && !strings.Contains(v, "://") })
		},
			"Bearer ", "bearer ", "BEARER "),
		each(func(p string) format { return scheme("auth-header", p, basicAuth) }, "Basic ", "basic "),
		each(func(p string) format { return named("api-key-header", p, func(v string) bool { return opaque(v, 16) }) },
			"X-Api-Key", "x-api-key", "X-API-Key", "X-API-KEY", "X-Goog-Api-Key", "x-goog-api-key", "Ocp-Apim-Subscription-Key",
			"X-Auth-Token", "x-auth-token", "X-Vault-Token", "x-vault-token", "PRIVATE-TOKEN", "Private-Token",
			"X-Amz-Security-Token", "x-amz-security-token", "x-functions-key", "DD-API-KEY", "DD-APPLICATION-KEY"),
		each(func(p string) format {
			return scheme("oauth-parameter", p, func(v string) bool { return opaque(v, 20) && !nameLike(v) })
		}, "access_token=", "refresh_token=", "client_secret=", "id_token="),
	)
}

// credential are the bytes of a header's or a parameter's value.
var credential = chars("azAZ09", "._~+/=:%-")

const (
	maxSeparator = 12  // bytes between a name and its value
	maxJudged    = 128 // bytes of a value that say whether it is one
)

// named covers the value after a name, when accept takes it.
func named(kind, name string, accept func(value string) bool) format {
	return format{kind: kind, prefix: name, glued: true, place: true, rest: &credential,
		find: func(s string, start int, final bool) (from, end int, v verdict) {
			first, v := separator(s, start+len(name), final)
			if v != present {
				return len(s), len(s), v
			}
			return value(s, first, final, accept)
		}}
}

// scheme covers the credential after the name of its scheme and a space.
func scheme(kind, name string, accept func(value string) bool) format {
	return format{kind: kind, prefix: name, place: true, rest: &credential,
		find: func(s string, start int, final bool) (from, end int, v verdict) {
			return value(s, start+len(name), final, accept)
		}}
}

// value covers the run of credential bytes at s[first:], when accept takes it.
func value(s string, first int, final bool, accept func(string) bool) (from, end int, v verdict) {
	end = run(s[:min(len(s), first+maxJudged)], first, &credential)
	if end == len(s) && !final {
		return first, end, unsettled
	}
	judged := end
	for judged > first && (s[judged-1] == '.' || s[judged-1] == ':') {
		judged-- // that of a sentence
	}
	if judged == first || !accept(s[first:judged]) {
		return 0, 0, absent
	}
	if end < first+maxJudged {
		end = judged
	} else if end = run(s, end, &credential); end == len(s) && !final {
		return first, end, unsettled
	}
	if ownForm(s, first, end) {
		return 0, 0, absent
	}
	return first, end, present
}

// separator returns where the value begins after a name that ends at i: behind
// quotes, which may be escaped, spaces, and one of : = > at least.
func separator(s string, i int, final bool) (first int, v verdict) {
	told := false
	for j := i; j < len(s); j++ {
		switch s[j] {
		case ':', '=', '>':
			told = true
		case ' ', '\t', '"', '\'', '\\', '`':
		default:
			if told {
				return j, present
			}
			return 0, absent
		}
		if j-i > maxSeparator {
			return 0, absent
		}
	}
	if final {
		return 0, absent
	}
	return 0, unsettled
}

// authSchemes are the words before a credential in the header Authorization.
var authSchemes = []string{"bearer", "basic", "token", "apikey", "api-key", "key", "ssws", "splunk", "genie", "bot", "negotiate"}

const maxAuthScheme = 10

// findAuthorization covers the credential in a header Authorization.
func findAuthorization(s string, start int, final bool) (from, end int, v verdict) {
	first, v := separator(s, start+len("uthorization"), final)
	if v != present {
		return len(s), len(s), v
	}
	word := run(s[:min(len(s), first+maxAuthScheme)], first, &dashed)
	if word == len(s) && !final {
		return len(s), len(s), unsettled
	}
	name := strings.ToLower(s[first:word])
	if !slices.Contains(authSchemes, name) || word == len(s) || s[word] != ' ' {
		return 0, 0, absent
	}
	for word < len(s) && word-first < maxAuthScheme+maxSeparator && s[word] == ' ' {
		word++
	}
	if name == "basic" {
		return value(s, word, final, basicAuth)
	}
	return value(s, word, final, func(v string) bool { return len(v) >= 8 && !(wordy(v) && (len(v) < 16 || filler(v))) })
}

// basicAuth accepts the base64 of a user, a colon and a password.
func basicAuth(value string) bool {
	if len(value) > 512 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || standIn(user, password) && (user == "" || password != "") {
		return false
	}
	for _, b := range text {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return len(text) >= 6
}
