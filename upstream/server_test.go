package upstream

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// beServer runs this test binary as an MCP server that behaves as mode says.
func beServer(mode string) {
	switch mode {
	case "sdk":
		beSDK()
		return
	case "crash-at-start":
		fmt.Fprintln(os.Stderr, "cannot start: no licence for "+os.Getenv("TOKEN"))
		os.Exit(3)
	}
	switch mode {
	case "deaf":
		beDeaf()
	case "child":
		startChild()
	}
	f := &fakeServer{mode: mode, cancelled: make(map[string]chan struct{})}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // as a good server does at the end of its input
		}
		var m rpc
		if json.Unmarshal(line, &m) == nil {
			f.handle(m)
		}
	}
}

// beDeaf shakes hands, lists a tool, and reads nothing more.
func beDeaf() {
	f := &fakeServer{mode: "one-tool"}
	in := bufio.NewReaderSize(os.Stdin, 16)
	for listed := false; !listed; {
		line, err := in.ReadBytes('\n')
		var m rpc
		if err != nil || json.Unmarshal(line, &m) != nil {
			os.Exit(1)
		}
		if listed = m.Method == "tools/list"; listed || m.Method == "initialize" {
			f.handle(m)
		}
	}
	time.Sleep(time.Hour)
}

// beSDK is a server made with the go-sdk, to compare with.
func beSDK() {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
}

type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type fakeServer struct {
	mode string

	mu        sync.Mutex
	cancelled map[string]chan struct{} // by id of the call
	changed   bool
	asked     json.RawMessage // id of the call that waits for an answer to a question
}

func (f *fakeServer) send(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	os.Stdout.WriteString(text + "\n")
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func (f *fakeServer) reply(id json.RawMessage, result string) {
	f.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (f *fakeServer) say(id json.RawMessage, text string) {
	f.reply(id, `{"content":[{"type":"text","text":`+quoted(text)+`}],"_meta":{"internal":1}}`)
}

func (f *fakeServer) handle(m rpc) {
	switch m.Method {
	case "initialize":
		f.initialize(m.ID)
	case "ping":
		f.reply(m.ID, `{}`)
	case "tools/list":
		f.list(m)
	case "tools/call":
		go f.call(m) // ends when it has answered, or with the program
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		json.Unmarshal(m.Params, &p)
		f.mu.Lock()
		defer f.mu.Unlock()
		if c := f.cancelled[string(p.RequestID)]; c != nil {
			close(c)
			delete(f.cancelled, string(p.RequestID))
		}
	case "":
		f.mu.Lock()
		id := f.asked
		f.mu.Unlock()
		f.say(id, "answered: "+string(m.Result)+string(m.Error))
	}
}

func (f *fakeServer) initialize(id json.RawMessage) {
	version := "2025-11-25"
	switch f.mode {
	case "hang-at-initialize":
		return
	case "unknown-version":
		version = "1999-01-01"
	case "banner":
		f.send("Welcome to the ticket server! Your token is " + os.Getenv("TOKEN"))
		f.send(`{"level":"info","message":"starting"}`)
	case "endless-line":
		for junk := strings.Repeat("x", 1<<20); ; {
			if _, err := os.Stdout.WriteString(junk); err != nil {
				os.Exit(1)
			}
		}
	}
	f.reply(id, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"},"instructions":`+quoted("Ask "+os.Getenv("TOKEN")+" first.")+`}`)
}

const schemaText = `{"type":"object"}`

func (f *fakeServer) list(m rpc) {
	tool := func(name string) string {
		return `{"name":"` + name + `","description":"Does ` + name + `.","inputSchema":` + schemaText + `,"annotations":{"readOnlyHint":true}}`
	}
	var tools []string
	next := ""
	switch f.mode {
	case "odd-tools":
		tools = oddTools()
	case "many-tools":
		for i := range 600 {
			tools = append(tools, tool(fmt.Sprint("t", i)))
		}
	case "hang-at-list":
		return
	case "one-tool":
		tools = []string{tool("echo")}
	case "endless-pages":
		tools, next = []string{tool("p" + fmt.Sprint(time.Now().UnixNano()))}, `,"nextCursor":"more"`
	default:
		for _, name := range strings.Fields("echo env leak slow crash hang big deep wrong-id change ask terminal flood bytes pid fail odd-result") {
			tools = append(tools, tool(name))
		}
		f.mu.Lock()
		if f.changed {
			tools = append(tools[1:], tool("fresh"))
		}
		f.mu.Unlock()
	}
	f.reply(m.ID, `{"tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
}

func oddTools() []string {
	long := strings.Repeat("x", maxDescription+1)
	return []string{
		`{"name":"good","description":"Good.","inputSchema":{"type":"object"},"_meta":{"anthropic/maxResultSizeChars":5000,"other":1}}`,
		`{"name":"good","description":"Another.","inputSchema":{"type":"object"}}`,
		`{"name":"bad name","inputSchema":{"type":"object"}}`,
		`{"name":"zero","description":"Zero\u200bwidth.","inputSchema":{"type":"object"}}`,
		`{"name":"bidi","description":"ok","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"x\u202ey"}}}}`,
		`{"name":"long","description":"` + long + `","inputSchema":{"type":"object"}}`,
		`{"name":"schema","inputSchema":{"type":"object","description":"` + strings.Repeat("y", maxSchema) + `"}}`,
		`{"name":"none"}`, `{"name":"array","inputSchema":{"type":"array"}}`, `17`, `{"name":5,"inputSchema":{"type":"object"}}`,
		`{"name":"hints","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`,
		`{"name":"last","description":"Last.\r\nReally.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"secret":1}}`,
	}
}

func (f *fakeServer) call(m rpc) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	json.Unmarshal(m.Params, &p)
	token := os.Getenv("TOKEN")
	switch p.Name {
	case "echo":
		f.say(m.ID, string(p.Arguments))
	case "env":
		f.say(m.ID, strings.Join(os.Environ(), "\n"))
	case "pid":
		f.say(m.ID, fmt.Sprint(os.Getpid()))
	case "leak":
		f.leak(m.ID, token)
	case "slow":
		f.slow(m.ID)
	case "crash":
		fmt.Fprintln(os.Stderr, "first line\npanic: token "+token+" is bad")
		os.Exit(7)
	case "big":
		f.say(m.ID, strings.Repeat("a", 9<<20))
	case "deep":
		f.reply(m.ID, `{"content":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)
	case "wrong-id":
		f.reply(json.RawMessage(`424242`), `{"content":[{"type":"text","text":"for somebody else"}]}`)
	case "change":
		f.mu.Lock()
		f.changed = true
		f.mu.Unlock()
		f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		f.say(m.ID, "changed")
	case "ask":
		f.mu.Lock()
		f.asked = m.ID
		f.mu.Unlock()
		f.send(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Your password?","requestedSchema":{"type":"object"}}}`)
	case "terminal":
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			tty.Close()
		}
		f.say(m.ID, fmt.Sprint("terminal: ", err))
	case "flood":
		for range 100000 {
			f.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`)
		}
		f.say(m.ID, "flooded")
	case "bytes":
		f.mu.Lock()
		defer f.mu.Unlock()
		for junk := strings.Repeat("x", 1<<20); ; {
			if _, err := os.Stdout.WriteString(junk); err != nil {
				return
			}
		}
	case "fail":
		f.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32000,"message":` + quoted("no access with "+token) + `}}`)
	case "odd-result":
		f.reply(m.ID, `{"content":"text"}`)
	}
}

// leak says the secret in every way that has to be found.
func (f *fakeServer) leak(id json.RawMessage, token string) {
	var hidden strings.Builder
	for _, r := range token {
		fmt.Fprintf(&hidden, `\u%04x`, r)
	}
	texts := []string{quoted(token), `"` + hidden.String() + `"`, quoted(quoted(token))}
	for _, s := range []string{url.QueryEscape(token), url.PathEscape("a/" + token), base64.StdEncoding.EncodeToString([]byte(token)), base64.URLEncoding.EncodeToString([]byte("x" + token)), base64.StdEncoding.EncodeToString([]byte("user:" + token + ":more"))} {
		texts = append(texts, quoted(s))
	}
	content := make([]string, len(texts))
	for i, t := range texts {
		content[i] = `{"type":"text","text":` + t + `}`
	}
	f.reply(id, `{"content":[`+strings.Join(content, ",")+`],"structuredContent":{`+quoted(token)+`:["`+hidden.String()+`"],"n":12345678901234567890},"isError":false}`)
}

// slow waits until it is cancelled, and tells so in a file.
func (f *fakeServer) slow(id json.RawMessage) {
	stop := make(chan struct{})
	f.mu.Lock()
	f.cancelled[string(id)] = stop
	f.mu.Unlock()
	if path := os.Getenv("NOTES"); path != "" {
		os.WriteFile(path, []byte("begun"), 0o600)
		<-stop
		os.WriteFile(path, []byte("cancelled"), 0o600)
		return
	}
	<-stop
}
