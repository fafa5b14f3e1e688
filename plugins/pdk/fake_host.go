//go:build !wasip1

package pdk

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	verdictNames = []string{kindPass: "pass", kindAllow: "allow", kindDeny: "deny", kindAsk: "ask"}
	levelNames   = []string{levelDebug: "debug", levelInfo: "info", levelWarn: "warn", levelError: "error"}
	strictness   = []int{kindPass: 0, kindAllow: 1, kindAsk: 2, kindDeny: 3}
)

var annotationKey = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// homeless says whether the call is of no session, so that there is no kv: the start of
// one is not yet.
func (c *Call) homeless() bool {
	if c.hook != SessionAdmit && c.hook != ToolsList {
		return false
	}
	id, _ := find(c.document, "/session/id")
	return len(id) == 0
}

func hostVerdict(kind int32, reason string) int32 {
	c := now()
	switch {
	case !c.may(SessionAdmit, PrePermission):
		c.fail("verdict: %s has none", c.hook)
		return codeNotAllowed
	case len(reason) > maxReason:
		c.fail("verdict: the reason has %d bytes, at most %d may be", len(reason), maxReason)
		return codeLimit
	case !utf8.ValidString(reason):
		c.fail("verdict: the reason is no UTF-8")
		return codeUnknown
	}
	if strictness[kind] > strictness[c.kind] || kind == c.kind && c.Reason == "" {
		c.kind, c.Verdict, c.Reason = kind, verdictNames[kind], reason
	}
	return 0
}

func hostAnnotate(key, value string) int32 {
	c := now()
	size := c.bytes + len(key) + len(value)
	if old, ok := c.Annotations[key]; ok {
		size -= len(key) + len(old)
	}
	switch {
	case !c.may(SessionAdmit, PrePermission):
		c.fail("annotate: %s has no annotations", c.hook)
		return codeNotAllowed
	case key == "" || len(key) > maxKey || size > maxAnnotations:
		c.fail("annotate: want keys of 1 to %d bytes, and %d bytes together", maxKey, maxAnnotations)
		return codeLimit
	case len(c.Annotations) == maxKeys && c.Annotations[key] == "":
		c.fail("annotate: there are more than %d annotations", maxKeys)
		return codeLimit
	case !annotationKey.MatchString(key):
		c.fail("annotate %q: want a key of letters, digits, _, . and -", key)
		return codeUnknown
	}
	if err := strictJSON(value); err != nil {
		c.fail("annotate %q: %q %w", key, value, err)
		return codeUnknown
	}
	c.Annotations[key], c.bytes = value, size
	return 0
}

func hostOutput(value string) int32 {
	c := now()
	switch {
	case !c.may(Redact, PostTool, ToolsList, ToolsCall):
		c.fail("output: %s has none", c.hook)
		return codeNotAllowed
	case len(value) > maxOutput || c.Output != "":
		c.fail("output: one of at most %d bytes may be", maxOutput)
		return codeLimit
	}
	if err := strictJSON(value); err != nil {
		c.fail("output: %q %w", value, err)
		return codeUnknown
	}
	c.Output = value
	return 0
}

func hostLog(level int32, text string) int32 {
	c := now()
	if len(c.Log) == maxLogLines || c.logged+len(text) > maxLog {
		return codeLimit // the host counts what it left out
	}
	c.logged += len(text)
	c.Log = append(c.Log, levelNames[level]+": "+strings.ToValidUTF8(text, "\uFFFD"))
	return 0
}

func hostKV(op int32, key string, value []byte) int32 {
	f := now().fake
	if f.KV == nil || now().homeless() {
		return codeNotAllowed
	}
	kept, ok := f.KV[key]
	switch {
	case op == opSet:
		return f.set(key, string(value))
	case !ok:
		return codeMissing
	case op == opDelete:
		delete(f.KV, key)
		return 0
	case len(kept) <= len(value):
		copy(value, kept)
	}
	return int32(len(kept))
}

func (f *Fake) set(key, value string) int32 {
	if key == "" || len(key) > maxKVKey {
		return codeLimit
	}
	total := len(key) + len(value)
	keys := 1
	for k, v := range f.KV {
		if k != key {
			total += len(k) + len(v)
			keys++
		}
	}
	if keys > maxKVKeys || total > maxKVBytes {
		return codeLimit
	}
	f.KV[key] = value
	return 0
}
