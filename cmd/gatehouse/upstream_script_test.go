package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// upstreamServer is an MCP server for scripts of [[mcp_server]]:
//
//	upstream-server [MODE …]           on stdin and stdout
//	upstream-server http FROM TO …     over HTTP on loopback; writes TO, the text of
//	                                   FROM with %URL% replaced by its address
//
// It has the tools say, note, whoami, crash, hang, grow and quit_all. Modes: dead
// ends it at once, mute never answers, leaky tells its token in a description,
// gossip=TEXT begins with a line that is no message, stubborn stays when nobody is
// there any more and puts its pid into ../pid, and log=FILE notes a line for each start
// and call in a file.
func upstreamServer(args []string) error {
	u := &upstreamProgram{modes: args}
	if err := u.log("start"); err != nil {
		return err
	}
	for _, m := range args {
		if text, ok := strings.CutPrefix(m, "gossip="); ok {
			fmt.Println("he told me: " + text)
		}
	}
	switch {
	case u.mode("dead"):
		return fmt.Errorf("cannot work with the token %s", os.Getenv("TICKETS_TOKEN"))
	case u.mode("mute"):
		_, err := os.Stdin.Read(make([]byte, 1<<20))
		for err == nil { // until nobody is there any more
			_, err = os.Stdin.Read(make([]byte, 1<<20))
		}
		return nil
	case len(args) > 2 && args[0] == "http":
		return u.http(args[1], args[2])
	}
	if u.mode("stubborn") {
		if err := os.WriteFile("../pid", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return err
		}
	}
	err := u.server().Run(context.Background(), &mcp.StdioTransport{})
	for u.mode("stubborn") {
		time.Sleep(time.Hour)
	}
	return err
}

type upstreamProgram struct {
	modes []string
	token string // of the request, over HTTP
}

func (u *upstreamProgram) mode(name string) bool { return slices.Contains(u.modes, name) }

// log notes a line; there may be no file for it.
func (u *upstreamProgram) log(line string) error {
	i := slices.IndexFunc(u.modes, func(m string) bool { return strings.HasPrefix(m, "log=") })
	if i < 0 {
		return nil
	}
	f, err := os.OpenFile(strings.TrimPrefix(u.modes[i], "log="), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

// sayInput is the input of the tools.
type sayInput struct {
	Text string `json:"text,omitempty"`
}

func (u *upstreamProgram) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "upstream-server", Version: "1"}, nil)
	add := func(name, description string, f func(ctx context.Context, text string) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, _ *mcp.CallToolRequest, in sayInput) (*mcp.CallToolResult, any, error) {
			if err := u.log("call " + name); err != nil {
				return nil, nil, err
			}
			text, err := f(ctx, in.Text)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
		})
	}
	token := "a token"
	if u.mode("leaky") {
		token = os.Getenv("TICKETS_TOKEN")
	}
	add("say", "Says it again, with "+token+".", func(_ context.Context, text string) (string, error) { return "said " + text, nil })
	add("note", "Changes nothing.", func(context.Context, string) (string, error) { return "noted", nil })
	add("whoami", "Tells its token and its variables.", func(context.Context, string) (string, error) { return u.whoami(), nil })
	add("fail", "Fails with its token.", func(context.Context, string) (string, error) { return "", fmt.Errorf("refused: %s", u.whoami()) })
	add("crash", "Ends the server.", func(context.Context, string) (string, error) { os.Exit(3); return "", nil })
	add("hang", "Never ends.", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	add("grow", "Adds the tool late.", func(context.Context, string) (string, error) {
		add("late", "Came late.", func(context.Context, string) (string, error) { return "better late", nil })
		return "grown", nil
	})
	add("quit_all", "Is offered to nobody.", func(context.Context, string) (string, error) { return "gone", nil })
	return s
}

func (u *upstreamProgram) whoami() string {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprintf("token %s%s; variables %s", os.Getenv("TICKETS_TOKEN"), u.token, strings.Join(names, ","))
}

// http serves until it is ended.
func (u *upstreamProgram) http(from, to string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		one := *u
		one.token = r.Header.Get("Authorization")
		return one.server()
	}, nil)
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	ready := strings.ReplaceAll(string(text), "%URL%", "http://"+listener.Addr().String()+"/mcp")
	if err := os.WriteFile(to+".new", []byte(ready), 0o600); err != nil {
		return err
	}
	if err := os.Rename(to+".new", to); err != nil {
		return err
	}
	return http.Serve(listener, guarded)
}

// cmdAwait waits until a file is there.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await file")
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s is not there", args[0])
}
