// Ticket-required is an example of session_admit with config and data: a session
// begins only if its prompt names a ticket that is open.
package main

import (
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

//go:wasmexport session_admit
func sessionAdmit() int32 {
	if action := pdk.Str("/action"); action != "start" && action != "fork" {
		return pdk.Pass() // a session that goes on had its ticket
	}
	projects := pdk.Items("/config/projects")
	if len(projects) == 0 {
		return pdk.Fail("config: projects is missing, a list such as [\"OPS\"]")
	}
	prompt := pdk.Str("/parameters/prompt")
	for _, ticket := range pdk.Items("/data/tickets/open") {
		if of(ticket, projects) && names(prompt, ticket) {
			pdk.AnnotateStr("ticket", ticket)
			return pdk.Pass()
		}
	}
	return pdk.Deny("the prompt names no open ticket of " + strings.Join(projects, ", "))
}

func of(ticket string, projects []string) bool {
	for _, p := range projects {
		if strings.HasPrefix(ticket, p+"-") {
			return true
		}
	}
	return false
}

// names says whether a text holds a ticket as a word: OPS-1 is not in OPS-12.
func names(text, ticket string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], ticket)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(ticket)
		if (start == 0 || !wordByte(text[start-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		at = end
	}
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-' || c >= 0x80
}

func main() {}
