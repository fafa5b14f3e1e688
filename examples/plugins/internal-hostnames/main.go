// Internal-hostnames is an example of redact: it masks the names of hosts below
// internal domains in whatever is stored, shown or read by the model.
package main

import "github.com/gatehouse-mcp/gatehouse/plugins/pdk"

// maxMasks is how many names of a text are masked one by one; a text with more of
// them is hidden as a whole, since a call may have 1000 edits.
const maxMasks = 100

//go:wasmexport redact
func redact() int32 {
	domains := pdk.Items("/config/domains")
	if len(domains) == 0 {
		return pdk.Fail("config: domains is missing, a list such as [\"corp.example\"]")
	}
	var edits pdk.Edits
	pdk.Strings("/payload", func(at, text string) {
		found := hosts(text, domains)
		if len(found) > maxMasks {
			edits.Replace(at, "", "host")
			return
		}
		for _, h := range found {
			edits.Mask(at, h.start, h.end, "host")
		}
	})
	return edits.Done()
}

type span struct{ start, end int }

// hosts finds names that end in one of the domains.
func hosts(text string, domains []string) (found []span) {
	for i := 0; i < len(text); {
		if !nameByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && (nameByte(text[i]) || text[i] == '.') {
			i++
		}
		end := i
		for text[end-1] == '.' { // the end of a sentence
			end--
		}
		for _, domain := range domains {
			if below(text[start:end], domain) {
				found = append(found, span{start, end})
				break
			}
		}
	}
	return found
}

// below compares without regard to case. The domain itself is no secret.
func below(name, domain string) bool {
	rest := len(name) - len(domain)
	if domain == "" || rest < 2 || name[rest-1] != '.' {
		return false
	}
	for i := range len(domain) {
		if lower(name[rest+i]) != lower(domain[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z' || c == '-' || c == '_'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func main() {}
