// Command client is a small MCP client of gatehouse: it starts one session,
// follows it, allows what asks, prints the result and lists the sessions.
//
//	go run ./examples/client --cwd /path/to/project "Fix the failing test"
//
// It allows everything that may be allowed, to show the road an answer takes. A
// client for people shows action.summary and action.rule and asks.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// run parses args, starts the server and plays one session to its end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	flags.SetOutput(stderr)
	server := flags.String("server", "gatehouse serve", "command of the MCP server, split at spaces")
	cwd := flags.String("cwd", "", "folder of the session; default: the server's")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *cwd != "" { // the server is started there, so a relative one would mean another folder
		whole, err := filepath.Abs(*cwd)
		if err != nil {
			return err
		}
		*cwd = whole
	}
	words := strings.Fields(*server)
	if flags.NArg() != 1 || len(words) == 0 {
		return errors.New("want one prompt: client [--server COMMAND] [--cwd FOLDER] PROMPT")
	}
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir, command.Stderr = *cwd, stderr
	implementation := &mcp.Implementation{Name: "gatehouse-example", Version: "1"}
	session, err := mcp.NewClient(implementation, nil).Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", *server, err)
	}
	c := client{session: session, out: stdout}
	err = c.play(ctx, flags.Arg(0), *cwd)
	return errors.Join(err, session.Close())
}

// arguments of a tool call.
type arguments map[string]any

// answer is what this client reads of a tool's answer.
type answer struct {
	SessionID  string
	Status     string
	Error      string // of a call that was refused
	NextCursor *int64
	Events     []struct{ Type string }
	Actions    []action
	Result     *struct {
		Result       string
		NumTurns     int
		TotalCostUSD float64
	}
	Sessions []struct{ SessionID, Status string }
}

// action is something the session waits for.
type action struct{ Type, RequestID, Summary, Rule string }

type client struct {
	session *mcp.ClientSession
	out     io.Writer
}

// call calls a tool and decodes its structured answer.
func (c client) call(ctx context.Context, tool string, args arguments) (answer, error) {
	var a answer
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return a, fmt.Errorf("%s: %w", tool, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err == nil && result.IsError {
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", tool, err)
	}
	return a, nil
}

// play starts a session, follows it to its end and lists what the server has.
func (c client) play(ctx context.Context, prompt, cwd string) error {
	start := arguments{"prompt": prompt}
	if cwd != "" {
		start["cwd"] = cwd
	}
	started, err := c.call(ctx, "claude_code", start)
	if err != nil {
		return err
	}
	end, err := c.follow(ctx, started.SessionID)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, "status:", end.Status)
	if r := end.Result; r != nil {
		fmt.Fprintf(c.out, "result: %s\n%d turns, $%.4f\n", r.Result, r.NumTurns, r.TotalCostUSD)
	}
	all, err := c.call(ctx, "claude_code_session", arguments{"action": "list"})
	if err != nil {
		return err
	}
	for _, s := range all.Sessions {
		fmt.Fprintln(c.out, "session:", s.SessionID, s.Status)
	}
	return nil
}

// follow polls until the session is at rest. waitMs makes a poll return at once
// when there is news, so there is no need to sleep in between.
func (c client) follow(ctx context.Context, id string) (answer, error) {
	var cursor *int64 // null, that is absent, on the first poll
	for {
		polled, err := c.call(ctx, "claude_code_check", arguments{
			"action": "poll", "sessionId": id, "cursor": cursor, "waitMs": 20_000,
		})
		if err != nil {
			return answer{}, err
		}
		if polled.NextCursor != nil {
			cursor = polled.NextCursor
		}
		for _, e := range polled.Events {
			fmt.Fprintln(c.out, "event:", e.Type)
		}
		for _, a := range polled.Actions {
			if err := c.respond(ctx, id, a); err != nil {
				return answer{}, err
			}
		}
		switch polled.Status {
		case "idle", "error", "cancelled":
			return polled, nil
		}
	}
}

// respond allows a permission; questions, plans and forms are a person's.
func (c client) respond(ctx context.Context, id string, a action) error {
	args := arguments{"action": "respond_permission", "sessionId": id, "requestId": a.RequestID, "decision": "allow"}
	if a.Type != "permission" {
		args["decision"], args["denyMessage"] = "deny", "nobody is here to answer"
	}
	fmt.Fprintf(c.out, "%s: %s (%s)\n", args["decision"], a.Summary, a.Rule)
	_, err := c.call(ctx, "claude_code_check", args)
	return err
}
