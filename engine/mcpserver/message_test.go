package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestCheckMessage(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	for _, tt := range []struct {
		name, line string
		code       int // 0 = a good message
		id         string
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0, ""},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, 0, ""},
		{"text id", `{"jsonrpc":"2.0","id":"a","method":"ping","params":null}`, 0, ""},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, 0, ""},
		{"error response", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[1]}}`, 0, ""},
		{"equal names apart", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"x":1},"b":[{"x":1},{"x":2}]}}`, 0, ""},
		{"environment names may differ in case", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"Path":1,"PATH":2}}}`, 0, ""},
		{"brackets in text", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\"` + strings.Repeat("[", 600) + `"}}`, 0, ""},
		{"garbage", `hello`, codeParse, "null"},
		{"half", `{"jsonrpc":"2.0"`, codeParse, "null"},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, codeParse, "null"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", codeParse, "null"},
		{"empty object", `{}`, codeInvalidRequest, "null"},
		{"text", `"ping"`, codeInvalidRequest, "null"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, codeInvalidRequest, "null"},
		{"empty batch", `[]`, codeInvalidRequest, "null"},
		{"version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, codeInvalidRequest, "7"},
		{"no version", `{"id":"x","method":"ping"}`, codeInvalidRequest, `"x"`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, codeInvalidRequest, "null"},
		{"fraction id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, codeInvalidRequest, "null"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeInvalidRequest, "null"},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, codeInvalidRequest, "null"},
		{"id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, codeInvalidRequest, "null"},
		{"method type", `{"jsonrpc":"2.0","id":2,"method":5}`, codeInvalidRequest, "2"},
		{"empty method", `{"jsonrpc":"2.0","id":2,"method":""}`, codeInvalidRequest, "2"},
		{"method and result", `{"jsonrpc":"2.0","id":2,"method":"m","result":{}}`, codeInvalidRequest, "2"},
		{"list of params", `{"jsonrpc":"2.0","id":2,"method":"m","params":[1]}`, codeInvalidRequest, "2"},
		{"response without id", `{"jsonrpc":"2.0","result":{}}`, codeInvalidRequest, "null"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, codeInvalidRequest, "null"},
		{"odd error", `{"jsonrpc":"2.0","id":1,"error":"m"}`, codeInvalidRequest, "null"},
		{"other case", `{"jsonrpc":"2.0","id":3,"method":"m","Method":"n"}`, codeInvalidRequest, "3"},
		{"other case of params", `{"jsonrpc":"2.0","id":3,"method":"m","params":{"Name":"n"}}`, codeInvalidRequest, "3"},
		{"folded letter", `{"jſonrpc":"2.0","jsonrpc":"2.0","id":3,"method":"m"}`, codeInvalidRequest, "3"},
		{"id twice", `{"jsonrpc":"2.0","id":3,"id":4,"method":"m"}`, codeInvalidRequest, "null"},
		{"twice inside", `{"jsonrpc":"2.0","id":3,"method":"m","params":{"a":[{"x":1,"x":2}]}}`, codeInvalidRequest, "3"},
		{"twice by escape", `{"jsonrpc":"2.0","id":3,"method":"m","params":{"a":1,"\u0061":2}}`, codeInvalidRequest, "3"},
		{"too deep", `{"jsonrpc":"2.0","id":3,"method":"m","params":{"a":` + deep + `}}`, codeInvalidRequest, "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := checkMessage([]byte(tt.line))
			if tt.code == 0 {
				if bad != nil {
					t.Fatalf("refused: %+v", bad)
				}
				return
			}
			if bad == nil {
				t.Fatal("accepted")
			}
			var reply struct {
				JSONRPC string
				ID      json.RawMessage
				Error   struct{ Code int }
			}
			if err := json.Unmarshal(bad.reply(), &reply); err != nil {
				t.Fatal(err)
			}
			if reply.Error.Code != tt.code || string(reply.ID) != tt.id || reply.JSONRPC != "2.0" {
				t.Errorf("got %s, want code %d, id %s", bad.reply(), tt.code, tt.id)
			}
		})
	}
}

// filterAll passes input through a filter with the given limit.
func filterAll(input io.Reader, limit int) (passed, replies string, err error) {
	var out bytes.Buffer
	f := newLineFilter(input, &out, limit, slog.New(slog.DiscardHandler))
	b, err := io.ReadAll(f)
	return string(b), out.String(), err
}

func TestFilterGoesOnAfterBadLines(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	input := strings.Join([]string{"x", good, "", "  \r", strings.Repeat("y", 5000), "[]", good + "\r", good}, "\n")
	passed, replies, err := filterAll(strings.NewReader(input), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(good+"\n", 3); passed != want {
		t.Errorf("passed %q, want %q", passed, want)
	}
	if n := strings.Count(replies, "\n"); n != 3 || !strings.Contains(replies, "line has 5000 bytes, more than the 1000 allowed") {
		t.Errorf("replies %q", replies)
	}
}

// unread is a client that reads nothing.
type unread struct{ gone chan struct{} }

func (u unread) Write([]byte) (int, error) {
	<-u.gone
	return 0, io.ErrClosedPipe
}

// TestFilterSeesTheEndOfAClientThatDoesNotRead: answers to bad lines that nobody
// takes neither hide the end of the input nor grow without bound.
func TestFilterSeesTheEndOfAClientThatDoesNotRead(t *testing.T) {
	for lines, want := range map[int]error{1: nil, maxRefusals: nil, maxRefusals * 3: errUnread} {
		client := unread{make(chan struct{})}
		f := newLineFilter(strings.NewReader(strings.Repeat("x\n", lines)), client, 1000, slog.New(slog.DiscardHandler))
		if _, err := io.ReadAll(f); !errors.Is(err, want) {
			t.Errorf("%d bad lines: %v, want %v", lines, err, want)
		}
		close(client.gone)
	}
}

// endless is a line without end; it counts what was read.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range n {
		p[i] = 'z'
	}
	e.left -= n
	return n, nil
}

func TestFilterKeepsOversizedLinesOut(t *testing.T) {
	const length = 100 << 20
	allocated := testing.AllocsPerRun(1, func() {
		passed, replies, err := filterAll(&endless{length}, maxLineBytes)
		if err != nil || passed != "" || !strings.Contains(replies, "-32600") {
			t.Errorf("passed %d bytes, replies %q, error %v", len(passed), replies, err)
		}
	})
	if allocated > 200 {
		t.Errorf("%v allocations for one line: it is being kept", allocated)
	}
}

// FuzzFilter: whatever comes in, what passes is lines the SDK can decode and
// nothing is lost silently.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nx\n"))
	f.Add([]byte(`[{"jsonrpc":"2.0"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":1},{"b":2}]}}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"a\xff\"}\n\n\r\n{"))
	f.Fuzz(func(t *testing.T, input []byte) {
		passed, replies, err := filterAll(bytes.NewReader(input), 4096)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range bytes.Lines(input) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if got := strings.Count(passed, "\n") + strings.Count(replies, "\n"); got != lines {
			t.Errorf("%d lines in, %d passed or answered", lines, got)
		}
		for line := range strings.Lines(passed) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Errorf("passed %q: %v", line, err)
			}
		}
		for line := range strings.Lines(replies) {
			if !json.Valid([]byte(line)) {
				t.Errorf("reply %q", line)
			}
		}
	})
}
