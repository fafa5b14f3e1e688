package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// withheld stands in the place of what the decision log never holds.
const withheld = "[withheld]"

// definedServers are the parameters that define MCP servers.
var definedServers = []string{"agents", "mcpServers"}

// coveredServers replaces what carries credentials in the definitions of MCP
// servers: of arguments the number and a digest stay, of addresses all but the
// name, the password and the query.
func coveredServers(r admission.Request) (ops []decisionlog.MaskOp) {
	for _, name := range definedServers {
		value, err := decodeValue(r.Parameters[name])
		if err != nil {
			continue // then there is no document
		}
		ops = append(ops, coveredWithin(value, "/input/parameters/"+name)...)
		if all, ok := value.(map[string]any); ok && name == "mcpServers" {
			for i, server := range slices.Sorted(maps.Keys(all)) {
				if config, ok := all[server].(map[string]any); ok {
					ops = append(ops, coveredMembers(config, fmt.Sprintf("/input/request/mcp_servers/%d", i))...)
				}
			}
		}
	}
	owner := map[string]any{"url": r.Server.URL, "args": anyOf(r.Server.Args)}
	return append(ops, coveredMembers(owner, "/input/mcp_server")...)
}

// coveredWithin finds definitions at any depth.
func coveredWithin(value any, at string) (ops []decisionlog.MaskOp) {
	switch v := value.(type) {
	case map[string]any:
		ops = coveredMembers(v, at)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			ops = append(ops, coveredWithin(v[name], at+"/"+pointerStep(name))...)
		}
	case []any:
		for i, item := range v {
			ops = append(ops, coveredWithin(item, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return ops
}

// coveredMembers replaces the arguments and the address of one definition.
func coveredMembers(config map[string]any, at string) (ops []decisionlog.MaskOp) {
	if args, ok := config["args"].([]any); ok && len(args) > 0 {
		ops = append(ops, decisionlog.MaskOp{Op: "upsert", Path: at + "/args", Value: coveredArgs(args)})
	}
	if address, ok := config["url"].(string); ok {
		if covered := coveredURL(address); covered != address {
			ops = append(ops, decisionlog.MaskOp{Op: "upsert", Path: at + "/url", Value: covered})
		}
	}
	return ops
}

// coveredArgs is a list of the same length, so that the document keeps its form;
// its first element holds the digest of the arguments as JSON.
func coveredArgs(args []any) []any {
	out := make([]any, len(args))
	for i := range out {
		out[i] = withheld
	}
	if raw, err := json.Marshal(args); err == nil {
		out[0] = "[withheld sha256:" + digest(string(raw)) + "]"
	}
	return out
}

// coveredURL leaves out name, password, query and fragment. An address that
// cannot be read is left out as a whole.
func coveredURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return withheld
	}
	if u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return address
	}
	more := u.RawQuery != "" || u.Fragment != ""
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	if more {
		return strings.TrimSuffix(u.String(), "?") + "?" + withheld
	}
	return u.String()
}

func anyOf(list []string) []any {
	out := make([]any, len(list))
	for i, one := range list {
		out[i] = one
	}
	return out
}
