// Command embed runs one Claude Code session from a Go program: a tool of its own,
// which the model calls in this very process, and a Go function that judges every
// call.
//
//	go run ./examples/embed "What does a lamp cost?"
//
// docs/library.md is the guide.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, engine.Options{}, strings.Join(os.Args[1:], " "), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run plays one session in the current folder, or in the roots of o.
func run(ctx context.Context, o engine.Options, prompt string, out io.Writer) error {
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(shop, &mcp.Tool{Name: "price", Description: "What an article costs, in euros."}, price)

	o.ToolServers = map[string]engine.ToolServer{"shop": inproc.Serve(shop, nil)}
	o.Deciders = []permission.Decider{permission.DeciderFunc(decide)}
	o.Admission = []admission.Decider{admission.Allow(admission.Start, admission.McpServer)}
	eng, err := engine.New(o)
	if err != nil {
		return err
	}
	defer eng.Close(context.WithoutCancel(ctx))
	session, err := eng.Start(ctx, engine.StartParams{Prompt: prompt})
	if err != nil {
		return err
	}
	for page := range session.Pages(ctx) {
		for _, e := range page.Events {
			fmt.Fprintf(out, "%3d %s\n", e.ID, e.Type)
		}
	}
	if result := session.Info().Result; result != nil {
		fmt.Fprintln(out, result.Result)
	}
	return ctx.Err()
}

type article struct {
	Name string `json:"name" jsonschema:"name of the article, such as lamp"`
}

func price(_ context.Context, _ *mcp.CallToolRequest, a article) (*mcp.CallToolResult, any, error) {
	euros, known := map[string]int{"lamp": 25, "chair": 80}[a.Name]
	if !known {
		return nil, nil, fmt.Errorf("no article %q", a.Name) // the model reads it
	}
	text := fmt.Sprintf("%d euros", euros)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// decide allows the shop's prices and nothing else. It hears of every call, whatever
// the CLI's own settings allow.
func decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	if r.Tool == "mcp__shop__price" {
		return permission.Decision{Effect: permission.Allow, Rule: "shop.price"}, nil
	}
	return permission.Decision{Effect: permission.Deny, Rule: "shop.only", Reason: "only the shop's prices are looked up here"}, nil
}
