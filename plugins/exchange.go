package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Bounds of annotations beside [MaxAnnotations].
const (
	MaxKey  = 64 // bytes of a key, which are letters, digits, "_", "." and "-"
	MaxKeys = 64
)

var annotationKey = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// exchange is what one call, or the making of one instance, says to the host. It
// belongs to the goroutine that calls.
type exchange struct {
	plugin  *plugin
	clock   *guestClock
	hook    Hook  // empty while an instance is made: nothing may be said then but log lines
	doc     *view // nil then
	session string
	began   time.Time // when it had a slot

	verdict    permission.Effect
	reason     string
	notes      map[string]json.RawMessage
	noteBytes  int
	output     json.RawMessage
	log        guestLog
	failure    error // the first limit it broke: the call fails whatever it returns
	exited     bool  // it called proc_exit
	exitStatus uint32
}

// fail notes why the call does not count. The first reason stays.
func (x *exchange) fail(format string, args ...any) {
	if x.failure == nil {
		x.failure = fmt.Errorf(format, args...)
	}
}

// refuse is fail for a function of the ABI, and gives its return code.
func (x *exchange) refuse(code int32, format string, args ...any) int32 {
	x.fail(format, args...)
	return code
}

// judges says whether a hook has a verdict and annotations.
func (h Hook) judges() bool { return h == SessionAdmit || h == PrePermission }

// outputs says whether a hook has an output.
func (h Hook) outputs() bool {
	return h == RedactHook || h == PostTool || h == ToolsList || h == ToolsCall
}

var verdictKinds = [...]permission.Effect{permission.Abstain, permission.Allow, permission.Deny, permission.Ask}

// say takes a verdict. The strictest one counts, with the first reason given for it.
func (x *exchange) say(kind uint32, reason []byte) int32 {
	switch {
	case !x.hook.judges():
		return x.refuse(codeNotAllowed, "verdict is for %s and %s only", SessionAdmit, PrePermission)
	case kind >= uint32(len(verdictKinds)):
		return x.refuse(codeUnknown, "verdict %d is unknown, want 0 pass, 1 allow, 2 deny or 3 ask", int32(kind))
	case len(reason) > MaxReason:
		return x.refuse(codeLimit, "the reason of a verdict has %d bytes, at most %d are taken", len(reason), MaxReason)
	case !utf8.Valid(reason):
		return x.refuse(codeUnknown, "the reason of a verdict is no valid UTF-8")
	}
	if effect := verdictKinds[kind]; effect > x.verdict || effect == x.verdict && x.reason == "" {
		x.verdict, x.reason = effect, string(reason)
	}
	return 0
}

// annotate takes an annotation. One with a key that is there replaces it.
func (x *exchange) annotate(key, value []byte) int32 {
	switch {
	case !x.hook.judges():
		return x.refuse(codeNotAllowed, "annotate is for %s and %s only", SessionAdmit, PrePermission)
	case len(key) == 0 || len(key) > MaxKey:
		return x.refuse(codeLimit, "the key of an annotation has %d bytes, 1 to %d are taken", len(key), MaxKey)
	}
	size := len(key) + len(value)
	if old, ok := x.notes[string(key)]; ok {
		size -= len(key) + len(old)
	}
	switch {
	case x.noteBytes+size > MaxAnnotations:
		return x.refuse(codeLimit, "annotations have more than %d bytes", MaxAnnotations)
	case x.notes[string(key)] == nil && len(x.notes) == MaxKeys:
		return x.refuse(codeLimit, "there are more than %d annotations", MaxKeys)
	case !annotationKey.Match(key):
		return x.refuse(codeUnknown, "the key of an annotation is %q, want letters, digits, _, . and -", key)
	}
	if err := checkJSON(value); err != nil {
		return x.refuse(codeUnknown, "annotation %s %w", visible(string(key)), err)
	}
	if err := checkNumbers(value); err != nil {
		return x.refuse(codeLimit, "annotation %s %w", visible(string(key)), err)
	}
	if x.notes == nil {
		x.notes = map[string]json.RawMessage{}
	}
	x.notes[string(key)] = append(json.RawMessage(nil), value...)
	x.noteBytes += size
	return 0
}

// give takes the output.
func (x *exchange) give(output []byte) int32 {
	switch {
	case !x.hook.outputs():
		return x.refuse(codeNotAllowed, "output is not for %s", x.hook)
	case x.output != nil:
		return x.refuse(codeLimit, "output was given twice")
	case len(output) > MaxOutput:
		return x.refuse(codeLimit, "the output has %d bytes, at most %d are taken", len(output), MaxOutput)
	case !utf8.Valid(output) || !json.Valid(output):
		return x.refuse(codeUnknown, "the output is no JSON in UTF-8")
	}
	x.output = append(json.RawMessage{}, output...)
	return 0
}

// get is the text of a part of the document.
func (x *exchange) get(path string) ([]byte, int32) {
	switch {
	case x.doc == nil:
		return nil, codeNotAllowed
	case !validPointer(path):
		return nil, codeBounds
	}
	text, found, err := x.doc.get(path)
	switch {
	case err != nil:
		return nil, x.refuse(codeLimit, "%w", err)
	case !found:
		return nil, codeMissing
	}
	return text, 0
}

// callContext is the context of one call of a guest. It answers for its own value
// only: nothing that a caller put into its context reaches the runtime.
type callContext struct {
	context.Context
	exchange *exchange
}

type exchangeKey struct{}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if _, ours := key.(exchangeKey); ours {
		return c.exchange
	}
	return nil
}

// exchangeOf is the exchange of the call that a host function is in.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}
