// Command tickets is an MCP server on stdio with four tools over a small ticket
// tracker. It stands for one that needs a credential: without TICKETS_TOKEN in its
// environment it does not start. README.md shows it behind Gatehouse's policies.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Getenv("TICKETS_TOKEN"), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "tickets:", err)
		os.Exit(1)
	}
}

// run serves until the client goes. A real server would hand token to its tracker.
func run(ctx context.Context, token string, transport mcp.Transport) error {
	if token == "" {
		return errors.New("TICKETS_TOKEN is not set; set it to the tracker's token")
	}
	t := &tracker{tickets: []ticket{{1, "The lamp in the hall flickers", true}, {2, "Door 3 squeaks", true}}}
	server := mcp.NewServer(&mcp.Implementation{Name: "tickets", Version: "1"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "list", Description: "The open tickets, the newest last.", Annotations: reads}, t.list)
	mcp.AddTool(server, &mcp.Tool{Name: "create", Description: "Writes a new ticket."}, t.create)
	mcp.AddTool(server, &mcp.Tool{Name: "close", Description: "Closes a ticket."}, t.close)
	mcp.AddTool(server, &mcp.Tool{Name: "delete", Description: "Deletes a ticket for good."}, t.delete)
	return server.Run(ctx, transport)
}

type ticket struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
	Open  bool   `json:"open"`
}

// tracker holds at most maxTickets. It is safe for concurrent use.
type tracker struct {
	mu      sync.Mutex
	last    int
	tickets []ticket
}

const maxTickets = 1000

type listing struct {
	Limit int `json:"limit,omitempty" jsonschema:"tickets at most; 0 or nothing for all"`
}

type tickets struct {
	Tickets []ticket `json:"tickets"`
}

func (t *tracker) list(_ context.Context, _ *mcp.CallToolRequest, in listing) (*mcp.CallToolResult, tickets, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := tickets{Tickets: []ticket{}}
	for _, one := range t.tickets {
		if one.Open && (in.Limit <= 0 || len(out.Tickets) < in.Limit) {
			out.Tickets = append(out.Tickets, one)
		}
	}
	return nil, out, nil
}

type creation struct {
	Title string `json:"title,omitempty" jsonschema:"what is wrong, in one line"`
	Text  string `json:"text,omitempty" jsonschema:"how to see it"`
}

func (t *tracker) create(_ context.Context, _ *mcp.CallToolRequest, in creation) (*mcp.CallToolResult, ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tickets) >= maxTickets {
		return nil, ticket{}, fmt.Errorf("the tracker holds %d tickets, which is the most", maxTickets)
	}
	t.last = max(t.last, len(t.tickets)) + 1
	made := ticket{t.last, in.Title, true}
	t.tickets = append(t.tickets, made)
	return nil, made, nil
}

type choice struct {
	ID int `json:"id" jsonschema:"number of the ticket"`
}

func (t *tracker) close(_ context.Context, _ *mcp.CallToolRequest, in choice) (*mcp.CallToolResult, ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.tickets {
		if t.tickets[i].ID == in.ID {
			t.tickets[i].Open = false
			return nil, t.tickets[i], nil
		}
	}
	return nil, ticket{}, fmt.Errorf("no ticket %d", in.ID)
}

func (t *tracker) delete(_ context.Context, _ *mcp.CallToolRequest, in choice) (*mcp.CallToolResult, tickets, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last, len(t.tickets))
	t.tickets = slices.DeleteFunc(t.tickets, func(one ticket) bool { return one.ID == in.ID })
	return nil, tickets{Tickets: slices.Clone(t.tickets)}, nil
}
