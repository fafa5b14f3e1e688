package facts

import (
	"strconv"
	"strings"
)

// URL is what is known about a URL argument; the zero value for none.
type URL struct {
	Scheme string `json:"scheme" doc:"letters lowered; empty when the text has none"`
	Host   string `json:"host" doc:"letters lowered, no port, no closing dot, letters beyond ASCII as punycode; an address in its usual spelling, without brackets"`
	Port   string `json:"port" doc:"as written, empty for the default"`
	IPKind string `json:"ip_kind" doc:"what kind of address the host is; name for one that only a resolver knows, none where there is no host or no browser would find one" enum:"none,name,loopback,private,link_local,metadata,multicast,unspecified,public"`
}

// maxURL bounds the text that is read; what is longer has no host.
const maxURL = 64 << 10

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

var withoutBreaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// DescribeURL reads a URL as the CLI does, whose parser is a browser's: tabs
// and newlines vanish, backslashes are slashes, slashes may be missing, the
// host begins behind the last @, and an address has many spellings. Where a
// stricter parser would reach another host, the kind is that of the more
// dangerous of the two. What cannot be read is kind "none".
func DescribeURL(text string) URL {
	none := URL{IPKind: "none"}
	if len(text) > maxURL {
		return none
	}
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = withoutBreaks.Replace(text)
	scheme, rest := cutScheme(text)
	none.Scheme = scheme
	slashes := len(rest) - len(strings.TrimLeft(rest, `/\`))
	switch special := defaultPorts[scheme] != ""; {
	case len(rest) == slashes, scheme == "" && slashes == 1, scheme != "" && !special && slashes < 2, scheme == "file" && slashes > 2:
		return none
	case !special && slashes > 2:
		slashes = 2 // the host is empty
	}
	rest = rest[slashes:]
	u := authority(scheme, rest, `/\?#`)
	if strict := authority(scheme, rest, `/?#`); danger(strict.IPKind) > danger(u.IPKind) {
		u.IPKind = strict.IPKind
	}
	return u
}

// cutScheme splits off a scheme. "host:8080" and "host.name:" have none.
func cutScheme(text string) (scheme, rest string) {
	at := strings.IndexByte(text, ':')
	for i := 0; i < at; i++ {
		c := text[i] | 0x20
		if letter := 'a' <= c && c <= 'z'; !letter && (i == 0 || strings.IndexByte("0123456789+-.", text[i]) < 0) {
			return "", text
		}
	}
	if at <= 0 {
		return "", text
	}
	scheme, rest = strings.ToLower(text[:at]), text[at+1:]
	if defaultPorts[scheme] == "" && rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		return "", text // a host and its port
	}
	return scheme, rest
}

// authority reads user, host and port up to the first of the closing characters.
func authority(scheme, rest, closing string) URL {
	if end := strings.IndexAny(rest, closing); end >= 0 {
		rest = rest[:end]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	host, port := rest, ""
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, ']') {
		host, port = rest[:colon], rest[colon+1:]
	}
	u := URL{Scheme: scheme, IPKind: "none"}
	n, err := strconv.ParseUint(port, 10, 16)
	if port != "" && err != nil {
		return u
	}
	u.Host, u.IPKind = describeHost(host)
	if u.Host != "" && port != "" && strconv.FormatUint(n, 10) != defaultPorts[scheme] {
		u.Port = port
	}
	return u
}

// danger orders kinds by what reaching one by mistake may cost.
func danger(kind string) int {
	for i, k := range []string{"none", "public", "name", "multicast", "unspecified", "private", "link_local", "loopback", "metadata"} {
		if k == kind {
			return i
		}
	}
	return 0
}
