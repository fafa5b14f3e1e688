package realcli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// webServer serves the tools tell, shape, fail and long over streamable HTTP, which
// no filter of ours stands before. Each gives out secret in its own way.
func (l *lab) webServer(secret string) object {
	l.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "telling", Version: "1"}, nil)
	type nothing struct{}
	type shaped struct {
		Key string `json:"key"`
	}
	add := func(name string, text func() (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: name}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
			said, err := text()
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, err
		})
	}
	add("tell", func() (string, error) { return "it is " + secret + ".", nil })
	add("fail", func() (string, error) { return "", errors.New("refused " + secret) })
	add("long", func() (string, error) {
		return strings.Repeat("a line of a long output\n", 40_000) + secret + "\nthe end", nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "shape", Description: "shape"}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, shaped, error) {
		return nil, shaped{Key: secret}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	l.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return object{"type": "http", "url": web.URL, "alwaysLoad": true}
}

func web(tool string) fakeapi.Turn { return fakeapi.Use("mcp__web__"+tool, object{}) }
