//go:build !wasip1

package pdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Fake stands for the host natively, in tests of a plugin. The zero value has no
// kv. Several may be used at once; their calls wait for each other.
type Fake struct {
	KV map[string]string // what is kept, as kv = true gives it; nil: kv is not enabled
}

// Call is what one call gave.
type Call struct {
	Verdict     string            // pass, allow, ask or deny
	Reason      string            // of that verdict
	Annotations map[string]string // JSON by key
	Output      string            // JSON; empty: none
	Log         []string          // "level: text"
	Err         error             // why the host would not count it; nil: it counts

	fake     *Fake
	document json.RawMessage
	hook     string // empty: any
	kind     int32
	bytes    int // of annotations
	logged   int
}

// The limits of a call.
const (
	maxReason      = 4 << 10
	maxAnnotations = 64 << 10
	maxKey         = 64 // of an annotation
	maxKeys        = 64 // annotations
	maxDepth       = 64 // levels of what a plugin says
	maxPath        = 4 << 10
	maxOutput      = 1 << 20
	maxLog         = 64 << 10
	maxLogLines    = 200
	maxKVKeys      = 64
	maxKVKey       = 128
	maxKVBytes     = 64 << 10
)

var (
	running sync.Mutex // held for a call
	current *Call
)

// TB is what [Test] uses of a *testing.T.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Test calls a hook with a document, a JSON object, without kv. A call that the
// host would not count ends the test.
//
//	call := pdk.Test(t, `{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}`, prePermission)
//	if call.Verdict != "deny" { … }
func Test(t TB, document string, hook func() int32) *Call {
	t.Helper()
	call := new(Fake).Call(document, hook)
	if call.Err != nil {
		t.Fatal("the call does not count: ", call.Err)
	}
	return call
}

// Call calls a hook with a document, a JSON object: what it has no member of is
// missing for the hook, but for abi and now. With a member hook, only what that hook
// may do counts.
func (f *Fake) Call(document string, hook func() int32) (call *Call) {
	call = &Call{Verdict: "pass", Annotations: map[string]string{}, fake: f}
	if call.Err = call.read(document); call.Err != nil {
		return call
	}
	running.Lock()
	defer running.Unlock()
	current = call
	defer func() {
		current = nil
		if p := recover(); p != nil {
			call.Err = fmt.Errorf("panic: %v", p)
		}
	}()
	if code := hook(); code != 0 {
		call.fail("the hook returned %d, want 0", code)
	}
	call.checkEdits()
	return call
}

func (c *Call) read(document string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &members); err != nil {
		return fmt.Errorf("document: want a JSON object: %w", err)
	}
	if members == nil {
		return errors.New("document: want a JSON object, got null")
	}
	for name, value := range map[string]string{"abi": ABI, "now": "2026-01-02T03:04:05Z"} {
		if _, ok := members[name]; !ok {
			members[name] = json.RawMessage(`"` + value + `"`)
		}
	}
	_ = json.Unmarshal(members["hook"], &c.hook) // none is any
	whole, err := json.Marshal(members)
	c.document = whole
	return err
}

// fail keeps the first reason.
func (c *Call) fail(format string, args ...any) {
	if c.Err == nil {
		c.Err = fmt.Errorf(format, args...)
	}
}

// may says whether the hook is one of those.
func (c *Call) may(hooks ...string) bool {
	for _, h := range hooks {
		if h == c.hook {
			return true
		}
	}
	return c.hook == ""
}

// now returns the call that runs.
func now() *Call {
	if current == nil {
		panic("pdk: outside of a call; natively the document comes from pdk.Test")
	}
	return current
}
