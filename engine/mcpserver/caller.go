package mcpserver

import (
	"os"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxClientName bounds what a client says of itself, in bytes.
const maxClientName = 200

// callerOf is the client of a call: its name and version are its own words, the
// user is ours, since a pipe comes from the same machine.
func callerOf(req *mcp.CallToolRequest) permission.Caller {
	c := permission.Caller{Transport: "stdio", UID: os.Getuid()}
	if req.Session == nil {
		return c
	}
	if info := req.ClientInfo(); info != nil {
		c.Client, c.Version = clipName(info.Name), clipName(info.Version)
	}
	return c
}

func clipName(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxClientName)], "")
}
