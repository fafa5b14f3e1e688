// Package pdk is what the author of a plugin in Go imports: a plugin for Gatehouse
// is a Go program without a main of its own, built as a WebAssembly module that
// exports one function for each hook.
//
//	package main
//
//	import (
//		"strings"
//
//		"example.com/no_rm/pdk"
//	)
//
//	//go:wasmexport pre_permission
//	func prePermission() int32 {
//		if pdk.Str("/tool_name") == "Bash" && strings.Contains(pdk.Str("/tool_input/command"), "rm -rf") {
//			return pdk.Deny("rm -rf is not allowed here")
//		}
//		return pdk.Pass()
//	}
//
//	func main() {}
//
// It is built by
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o no_rm.wasm
//
// A hook sees one document, and asks for its parts by JSON pointer (RFC 6901):
// [Str], [Int], [Num], [Bool], [Has], [Raw]. It answers with a verdict ([Pass],
// [Allow], [Ask], [Deny]) and annotations at session_admit and pre_permission, with
// [Edits] at redact and post_tool, with [Tools] and a [Text] at tools_list and
// tools_call, and with nothing at session_event. What the host counts is a return
// of 0 within its limits: a panic, another code ([Fail]), too much output or a
// deadline that passed are failures, and the plugin's on_error holds.
//
// Each call gets a fresh instance unless the plugin is configured otherwise, so
// variables do not last. What has to last for a session goes into kv ([KVSet]).
// There is no network, no file, no environment and no real clock: /now is the time.
//
// Natively, in the author's own go test, the same functions work on a document
// that the test gives: see [Test] and [Fake].
//
// The package does without encoding/json and fmt, which add 1.4 MB to a module of
// 1.9 MB and a quarter of a millisecond to each call. Whoever needs them uses
// them: json.Unmarshal([]byte(pdk.Raw("/tool_input")), &input).
package pdk

// The hooks: what a plugin exports, and what /hook says.
const (
	SessionAdmit  = "session_admit"
	PrePermission = "pre_permission"
	PostTool      = "post_tool"
	Redact        = "redact"
	SessionEvent  = "session_event"
	ToolsList     = "tools_list"
	ToolsCall     = "tools_call"
)

// ABI is the module of the functions that this package imports.
const ABI = "gatehouse.hook.v1"

// Codes that the host's functions return instead of a size.
const (
	codeMissing    = -1 // no such part, no such key
	codeBad        = -2 // a bad pointer
	codeUnknown    = -3 // an unknown kind or operation, or no JSON
	codeLimit      = -4 // over a limit
	codeNotAllowed = -5 // not at this hook, or kv is not enabled
)

// Kinds of verdicts, and levels of logs.
const (
	kindPass int32 = iota
	kindAllow
	kindDeny
	kindAsk
)

const (
	levelDebug int32 = iota
	levelInfo
	levelWarn
	levelError
)

// Pass says nothing about the call: policies decide alone.
func Pass() int32 { return say(kindPass, "") }

// Allow tells policies that the plugin approves. It loosens nothing by itself.
func Allow(reason string) int32 { return say(kindAllow, reason) }

// Ask wants a person to decide. reason is at most 4 KiB, as are all reasons.
func Ask(reason string) int32 { return say(kindAsk, reason) }

// Deny forbids. Of several verdicts in one call the strictest holds.
func Deny(reason string) int32 { return say(kindDeny, reason) }

// Fail ends the hook as a failure and logs why: on_error holds, and what was said
// before does not count.
func Fail(why string) int32 {
	Error(why)
	return 1
}

func say(kind int32, reason string) int32 {
	hostVerdict(kind, reason) // on an error the host fails the call itself
	return 0
}

// Annotate shows policies a value, valid JSON, at
// input.plugins.<plugin>.annotations.<key>. All of a call have 64 KiB.
func Annotate(key, json string) { hostAnnotate(key, json) }

// AnnotateStr annotates with a text.
func AnnotateStr(key, value string) { Annotate(key, Quote(value)) }

// AnnotateInt annotates with a number.
func AnnotateInt(key string, value int64) { Annotate(key, itoa(value)) }

// AnnotateBool annotates with true or false.
func AnnotateBool(key string, value bool) {
	text := "false"
	if value {
		text = "true"
	}
	Annotate(key, text)
}

// Output gives a hook's result as JSON of at most 1 MiB, once a call. [Edits] and
// [Tools] and [Text] do it for the results that there are.
func Output(json string) int32 {
	hostOutput(json)
	return 0
}

// Debug, Info, Warn and Error log a text for the operator. A call has 200 lines of
// 64 KiB together; what is more is cut.
func Debug(text string) { hostLog(levelDebug, text) }

// Info logs a text.
func Info(text string) { hostLog(levelInfo, text) }

// Warn logs a text.
func Warn(text string) { hostLog(levelWarn, text) }

// Error logs a text. The call goes on: see [Fail].
func Error(text string) { hostLog(levelError, text) }
