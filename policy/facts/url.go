package facts

import (
	"net/url"
	"strings"
)

// URL is what is known about a URL argument; the zero value for none.
type URL struct {
	Scheme string `json:"scheme" doc:"letters lowered"`
	Host   string `json:"host" doc:"letters lowered, no port; 169.254.169.254 for every spelling of that address"`
	Port   string `json:"port" doc:"as written, empty for the default"`
	IPKind string `json:"ip_kind" doc:"what kind of address the host is" enum:"none,name,loopback,private,link_local,metadata,multicast,unspecified,public"`
}

// DescribeURL reads a URL; what cannot be read is the zero value with kind "none".
func DescribeURL(text string) URL {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || text == "" {
		return URL{IPKind: "none"}
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	kind := "name"
	if NamesMetadata(host) { // other spellings reach it too
		host, kind = "169.254.169.254", "metadata"
	}
	return URL{Scheme: strings.ToLower(u.Scheme), Host: host, Port: u.Port(), IPKind: kind}
}
