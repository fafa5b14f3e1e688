package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginChecker checks one [[plugin]].
type pluginChecker struct {
	*checker
	at string
	p  pluginConfig
}

func (k *pluginChecker) wrong(format string, args ...any) { k.failAt(k.at, pluginKey, format, args...) }

var (
	pluginName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)
	dataForm   = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)*$`)
)

func (k *pluginChecker) config() plugins.Config {
	p := k.p
	switch {
	case p.Name == "":
		k.wrong(`name is missing; want name = "…" and path = "….wasm"`)
	case !pluginName.MatchString(p.Name):
		k.wrong("name %q: want a lower-case letter, then up to 31 of a-z, 0-9 and _", p.Name)
	}
	return plugins.Config{
		Name: p.Name, SHA256: k.pin(), AllowUnpinned: p.AllowUnpinned, Hooks: k.hooks(), Order: k.order(),
		Binding: plugins.Binding(k.choice("binding", p.Binding, string(plugins.BindingDeny), string(plugins.BindingNone))),
		OnError: k.onError(),
		Timeout: k.time("timeout", p.Timeout, plugins.DefaultTimeout, plugins.MaxTimeout), ToolTimeout: k.time("tool_timeout", p.ToolTimeout, plugins.DefaultToolTimeout, plugins.MaxToolTimeout),
		Memory: k.memory(), Reuse: k.choice("state", p.State, stateCall, stateInstance) == stateInstance,
		KV: p.KV, Redacted: p.Redacted, Data: k.data(), Config: k.free(), Events: k.events(),
	}
}

// choice is one of the known words; the first stands for none.
func (k *pluginChecker) choice(key, value string, known ...string) string {
	if value == "" {
		return known[0]
	}
	if !slices.Contains(known, value) {
		k.wrong("%q: %s = %q is unknown, want one of %s", k.p.Name, key, value, strings.Join(known, ", "))
	}
	return value
}

// pin is the digest the file has to have.
func (k *pluginChecker) pin() string {
	pin := strings.ToLower(k.p.SHA256)
	switch {
	case pin == "" && !k.p.AllowUnpinned:
		k.wrong("%q: sha256 is missing; gatehouse plugin check FILE.wasm prints it (allow_unpinned = true runs whatever the file holds)", k.p.Name)
	case pin != "" && !sha256Form.MatchString(pin):
		k.wrong("%q: sha256 = %q is no digest; want 64 hexadecimal digits", k.p.Name, k.p.SHA256)
	}
	return pin
}

// hooks are those named; nil: all that the file exports.
func (k *pluginChecker) hooks() (hooks []plugins.Hook) {
	if k.p.Hooks != nil && len(k.p.Hooks) == 0 {
		k.wrong("%q: hooks = [] calls it nowhere; name some, or leave the key out for all it exports", k.p.Name)
	}
	for _, name := range k.p.Hooks {
		h := plugins.Hook(name)
		switch {
		case !slices.Contains(plugins.Hooks, h):
			k.wrong("%q: hook %q is unknown, want one of %s", k.p.Name, name, hookNames(plugins.Hooks))
		case slices.Contains(hooks, h):
			k.wrong("%q: hook %q stands twice", k.p.Name, name)
		}
		hooks = append(hooks, h)
	}
	return hooks
}

func hookNames(hooks []plugins.Hook) string {
	names := make([]string, len(hooks))
	for i, h := range hooks {
		names[i] = string(h)
	}
	return strings.Join(names, ", ")
}

func (k *pluginChecker) order() int {
	if o := k.p.Order; o < -maxPluginOrder || o > maxPluginOrder {
		k.wrong("%q: order = %d is out of bounds, want %d to %d", k.p.Name, o, -maxPluginOrder, maxPluginOrder)
	}
	return k.p.Order
}

// onError knows "drop" for plugins that edit and do nothing else.
func (k *pluginChecker) onError() plugins.OnError {
	deny, ask, skip := string(plugins.ErrorDenies), string(plugins.ErrorAsks), string(plugins.ErrorSkips)
	if k.p.OnError != dropsPayload {
		return plugins.OnError(k.choice("on_error", k.p.OnError, deny, ask, skip))
	}
	edits := func(h string) bool { return h == string(plugins.PostTool) || h == string(plugins.RedactHook) }
	if len(k.p.Hooks) == 0 || slices.ContainsFunc(k.p.Hooks, func(h string) bool { return !edits(h) }) {
		k.wrong(`%q: on_error = "drop" withholds a payload, so hooks has to name redact or post_tool and nothing else; want %s, %s or %s`, k.p.Name, deny, ask, skip)
	}
	return plugins.ErrorDenies
}

func (k *pluginChecker) time(key, value string, otherwise, most time.Duration) time.Duration {
	return duration(k.wrong, k.p.Name, key, value, minPluginTimeout, most, otherwise)
}

// duration reads a key of an element that is called name; wrong is told of one that
// is none or out of bounds.
func duration(wrong func(format string, args ...any), name, key, value string, least, most, otherwise time.Duration) time.Duration {
	if value == "" {
		return otherwise
	}
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		wrong(`%q: %s = %q is no duration; write it like "200ms" or "2m"`, name, key, value)
	case d < least || d > most:
		wrong("%q: %s = %s is out of bounds, want %s to %s", name, key, value, least, most)
	}
	return d
}

// memory is in bytes, whole pages.
func (k *pluginChecker) memory() int64 {
	if k.p.Memory == "" {
		return plugins.DefaultMemory
	}
	n, err := parseSize(k.p.Memory)
	switch {
	case err != nil:
		k.wrong("%q: memory = %v", k.p.Name, err)
	case n < minPluginMemory || n > plugins.MaxMemory || n%minPluginMemory != 0:
		k.wrong("%q: memory = %s is out of bounds, want 64KiB to %dMiB in steps of 64KiB", k.p.Name, k.p.Memory, plugins.MaxMemory>>20)
	}
	return n
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,9})(KiB|MiB)$`)

// parseSize reads a size such as "512KiB" or "32MiB".
func parseSize(text string) (int64, error) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf(`%q is no size; write it like "32MiB" or "512KiB"`, text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if m[2] == "MiB" {
		return n << 20, err
	}
	return n << 10, err
}

func (k *pluginChecker) data() []string {
	if n := len(k.p.Data); n > maxPluginData {
		k.wrong("%q: data names %d paths, want at most %d", k.p.Name, n, maxPluginData)
	}
	for _, path := range k.p.Data {
		if !dataForm.MatchString(path) {
			k.wrong(`%q: data %q is no path; write names with dots between them, such as "secrets.patterns"`, k.p.Name, path)
		}
	}
	return k.p.Data
}

// eventKinds are those session_event can be called for.
var eventKinds = []event.Kind{
	event.Output, event.ToolResult, event.Progress, event.PermissionAsked, event.PermissionResult, event.Result, event.Error, event.Notice,
}

func (k *pluginChecker) events() (kinds []event.Kind) {
	if k.p.Events != nil && len(k.p.Events) == 0 {
		k.wrong("%q: events = [] shows it none; name some, or leave the key out for all", k.p.Name)
	}
	for _, name := range k.p.Events {
		if !slices.Contains(eventKinds, event.Kind(name)) {
			names := make([]string, len(eventKinds))
			for i, kind := range eventKinds {
				names[i] = string(kind)
			}
			k.wrong("%q: event %q is unknown, want one of %s", k.p.Name, name, strings.Join(names, ", "))
		}
		kinds = append(kinds, event.Kind(name))
	}
	return kinds
}
