package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client plays the calls of a file against a server it starts. A line is
//
//	call TOOL {json}        call a tool; answers set $ID, $REQ and $TOKEN
//	begin TOOL {json}       call a tool and do not wait for the answer
//	wait STATUS             poll until the status is STATUS, from the last cursor
//	answer allow|deny TEXT  answer the open action; {json} adds members
//	row NAME TOOL {json} …  one row of a table, see mcprow_test.go
//	let NAME, use NAME      keep $ID as $NAME; make $ID what NAME kept
//	let NAME VALUE          keep VALUE, such as $REQ, as $NAME
//	put FROM TO             copy a file of $WORK over another
//	until REGEXP            poll until an answer matches, from the last cursor
//	hangup                  send the server SIGHUP
//	run COMMAND ARGS …      run a command, print its output and exit code
//	await FILE              wait until a file is there
//	follow COMMAND ARGS …   start a command; "shown REGEXP" waits until it printed that,
//	                        "followed" for its end, "followed INT" interrupts it first
//	sleep DURATION
//	close, signal TERM      stop the server, then print its exit code
//	kill                    kill -9 of the server, then print the exit code
//	restart                 close it, unless that is done, and start another
//	offered                 print the name of the server and its tools
//	launch, landed …        calls that block, see mcplaunch_test.go
//	newest STATUS           wait until the newest session has the status; it is $ID then
//
// Every call prints one line, "TOOL " or "TOOL error " and the compact answer;
// a row prints its name.
type client struct {
	flags   []string // of the server
	server  *exec.Cmd
	stdin   io.Closer
	session *mcp.ClientSession
	vars    map[string]string
	cursor  map[string]int64 // by session id
	ended   bool

	rowSession string // started by the last row
	followed   *followed
	launched   map[string]*launched // by name, see mcplaunch_test.go
}

// clientTime bounds one run of the client, so that a hung server fails a test
// with its output.
const clientTime = 60 * time.Second

func mcpClient(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: mcpclient [--as=program[,command]] [server flags] file")
	}
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return err
	}
	c := &client{flags: args[:len(args)-1], vars: map[string]string{}, cursor: map[string]int64{}}
	if err := c.connect(ctx, c.flags); err != nil {
		return err
	}
	defer func() { c.server.Process.Kill() }() // the last one of them
	scan := bufio.NewScanner(strings.NewReader(string(text)))
	scan.Buffer(nil, 32<<20)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.play(ctx, line); err != nil {
			return fmt.Errorf("line %d, %s: %w", n, line, err)
		}
	}
	if c.ended {
		return nil
	}
	return c.end(func() error { return c.stdin.Close() })
}

func (c *client) connect(ctx context.Context, flags []string) error {
	command := serverCommand(flags)
	c.server = exec.Command(command[0], command[1:]...)
	c.server.Stderr = os.Stderr
	in, err := c.server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.server.Start(); err != nil {
		return err
	}
	c.stdin = in
	implementation := &mcp.Implementation{Name: "mcpclient", Version: "1"}
	c.session, err = mcp.NewClient(implementation, nil).Connect(ctx, &mcp.IOTransport{Reader: out, Writer: in}, nil)
	return err
}

var variable = regexp.MustCompile(`\$[A-Z]+`)

func (c *client) play(ctx context.Context, line string) error {
	line = variable.ReplaceAllStringFunc(line, func(name string) string {
		if value, ok := c.vars[name[1:]]; ok {
			return value
		}
		if value, ok := os.LookupEnv(name[1:]); ok {
			return value
		}
		return name
	})
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "call":
		tool, arguments, _ := strings.Cut(rest, " ")
		_, err := c.call(ctx, tool, json.RawMessage(arguments))
		return err
	case "begin":
		tool, arguments, _ := strings.Cut(rest, " ")
		go c.send(ctx, tool, json.RawMessage(arguments)) // ends with the server
		time.Sleep(300 * time.Millisecond)               // so that the server is at it
		return nil
	case "launch":
		return c.launch(ctx, rest)
	case "landed":
		return c.landed(ctx, rest)
	case "withdraw":
		return c.withdraw(rest)
	case "seen":
		return c.seen(ctx, rest)
	case "ascending":
		return c.ascending(ctx, rest)
	case "row":
		return c.row(ctx, rest)
	case "wait":
		return c.wait(ctx, rest)
	case "answer":
		return c.answer(ctx, rest)
	case "let":
		name, value, given := strings.Cut(rest, " ")
		if !given {
			value = c.vars["ID"]
		}
		c.vars[name] = value
		return nil
	case "use":
		c.vars["ID"] = c.vars[rest]
		return nil
	case "put":
		return c.put(rest)
	case "run":
		return runCommand(ctx, strings.Fields(rest))
	case "await":
		return awaitFile(ctx, rest)
	case "until":
		return c.until(ctx, rest)
	case "newest":
		return c.newest(ctx, rest)
	case "offered":
		return c.offered(ctx)
	case "hangup":
		return c.hangup()
	case "sleep":
		d, err := time.ParseDuration(rest)
		time.Sleep(d)
		return err
	case "restart":
		if !c.ended {
			if err := c.end(c.stdin.Close); err != nil {
				return err
			}
		}
		c.ended, c.cursor = false, map[string]int64{}
		return c.connect(ctx, c.flags)
	case "kill":
		return c.kill()
	case "follow":
		return c.startBeside(strings.Fields(rest))
	case "shown":
		return c.shown(ctx, rest)
	case "followed":
		return c.unfollow(rest)
	case "close":
		return c.end(c.stdin.Close)
	case "signal":
		return c.end(func() error { return c.server.Process.Signal(syscall.SIGTERM) })
	}
	return errors.New("unknown line")
}

// reply is what the client looks at in an answer.
type reply struct {
	SessionID   string `json:"sessionId"`
	MPMSession  string `json:"session_id"`
	Status      string `json:"status"`
	NextCursor  *int64 `json:"nextCursor"`
	ResumeToken string `json:"resumeToken"`
	Actions     []struct {
		RequestID string `json:"requestId"`
	} `json:"actions"`
}

func (c *client) call(ctx context.Context, tool string, arguments json.RawMessage) (reply, error) {
	raw, refused, err := c.send(ctx, tool, arguments)
	if err != nil {
		return reply{}, err
	}
	mark := ""
	if refused {
		mark = "error "
	}
	fmt.Printf("%s %s%s\n", tool, mark, raw)
	return c.note(raw)
}

// quietly is call without printing; it returns the whole answer.
func (c *client) quietly(ctx context.Context, tool string, arguments json.RawMessage) (answer map[string]any, refused bool, err error) {
	raw, refused, err := c.send(ctx, tool, arguments)
	if err != nil {
		return nil, false, err
	}
	if err := decode(raw, &answer); err != nil {
		return nil, false, err
	}
	_, err = c.note(raw)
	return answer, refused, err
}

func (c *client) send(ctx context.Context, tool string, arguments json.RawMessage) (raw []byte, refused bool, err error) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, false, err
	}
	raw, err = toldIn(result)
	return raw, result.IsError, err
}

// note keeps what later lines refer to.
func (c *client) note(raw []byte) (reply, error) {
	var r reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, err
	}
	if id := cmp.Or(r.SessionID, r.MPMSession); id != "" {
		c.vars["ID"] = id
	}
	if r.ResumeToken != "" {
		c.vars["TOKEN"] = r.ResumeToken
	}
	if r.NextCursor != nil {
		c.cursor[r.SessionID] = *r.NextCursor
	}
	if len(r.Actions) > 0 {
		c.vars["REQ"] = r.Actions[0].RequestID
	}
	return r, nil
}

// wait polls the session of $ID until it has the status.
func (c *client) wait(ctx context.Context, status string) error {
	for ctx.Err() == nil {
		id := c.vars["ID"]
		r, err := c.call(ctx, "claude_code_check", json.RawMessage(fmt.Sprintf(
			`{"action":"poll","sessionId":%q,"waitMs":2000,"responseMode":"full","cursor":%d}`, id, c.cursor[id])))
		if err != nil || r.Status == status {
			return err
		}
		if r.Status == "cancelled" || r.Status == "error" && status != "running" {
			return fmt.Errorf("status is %q", r.Status)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

// answer responds to $REQ.
func (c *client) answer(ctx context.Context, text string) error {
	decision, rest, _ := strings.Cut(text, " ")
	arguments := map[string]any{
		"action": "respond_permission", "sessionId": c.vars["ID"], "requestId": c.vars["REQ"], "decision": decision,
	}
	switch {
	case strings.HasPrefix(rest, "{"):
		var more map[string]any
		if err := json.Unmarshal([]byte(rest), &more); err != nil {
			return err
		}
		maps.Copy(arguments, more)
	case rest != "":
		arguments["denyMessage"] = rest
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, "claude_code_check", raw)
	return err
}

// end stops the server by stop and prints how it went.
func (c *client) end(stop func() error) error {
	c.ended = true
	if err := stop(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- c.server.Wait() }() // ends with the server
	select {
	case err := <-done:
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			return err
		}
		fmt.Printf("server exit %d\n", c.server.ProcessState.ExitCode())
		return nil
	case <-time.After(20 * time.Second):
		return errors.New("the server is still there after 20 s")
	}
}
