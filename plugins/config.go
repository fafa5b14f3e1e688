package plugins

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// OnError says what a failure of a plugin's means. The zero value denies.
type OnError string

// The choices. At hooks with edits the first two withhold the whole payload.
const (
	ErrorDenies OnError = "deny" // the zero value too
	ErrorAsks   OnError = "ask"  // at session_admit a deny
	ErrorSkips  OnError = "skip" // as if the plugin had said nothing; policies see the error
)

// Binding says what a plugin's verdict does beside being shown to policies.
type Binding string

// The choices.
const (
	BindingDeny Binding = "deny" // an ask or a deny holds whatever policies say; the zero value too
	BindingNone Binding = "none" // none: policies see it
)

// Config is one plugin. Only Name, Path and SHA256 are needed.
type Config struct {
	Name          string // [a-z][a-z0-9_]{0,31}: its key in input.plugins, and of its tools' server
	Path          string // absolute
	SHA256        string // of the file, 64 hexadecimal digits; may be empty with AllowUnpinned only
	AllowUnpinned bool

	Hooks   []Hook // that it is called at, a subset of those it exports; nil: all it exports
	Order   int    // lower ones are called first, then by name
	Binding Binding
	OnError OnError

	Timeout     time.Duration // of a call, from when it has a slot, and of making an instance; 0 = DefaultTimeout, at most MaxTimeout
	ToolTimeout time.Duration // of tools_call; 0 = DefaultToolTimeout, at most MaxToolTimeout
	Memory      int64         // bytes of linear memory, whole 64 KiB pages; 0 = DefaultMemory, at most MaxMemory
	Reuse       bool          // state = "instance": one instance is used again and again, so that calls of different sessions share its memory
	KV          bool          // it may keep values for a session
	Redacted    bool          // verdict hooks see their document covered by the redaction plan for the sink plugin; false: the exact input, as policies do

	Data   []string        // dotted paths of policy data it sees
	Config json.RawMessage // an object it sees as /config; nil: {}
	Events []event.Kind    // kinds session_event is called for; nil: all but partial
}

// Defaults and bounds of Config.
const (
	DefaultTimeout     = 200 * time.Millisecond
	MaxTimeout         = 10 * time.Second
	DefaultToolTimeout = 30 * time.Second
	MaxToolTimeout     = 10 * time.Minute
	DefaultMemory      = 32 << 20
	MaxMemory          = 512 << 20
	MaxPlugins         = 32
	MaxModule          = 32 << 20 // bytes of a file
)

// Bounds of one call.
const (
	MaxReason      = 4 << 10
	MaxAnnotations = 64 << 10 // bytes of all keys and values
	MaxOutput      = 1 << 20
	MaxLog         = 64 << 10
	MaxLogLines    = 200
	MaxKVKeys      = 64
	MaxKVBytes     = 64 << 10 // of keys and values of a session and plugin
)

// UnhealthyAfter is how many failures in a row make a plugin unhealthy.
const UnhealthyAfter = 5

// Options configures a Host.
type Options struct {
	Plugins []Config

	// Cover covers documents of plugins with Redacted, for the sink plugin. nil:
	// such a plugin does not load.
	Cover event.Redactor

	// Data returns the policy data that plugins may be shown parts of. nil: none.
	Data func() map[string]any

	// CacheDir keeps compiled modules, which are native code: absolute, owned by
	// this user, 0700. Empty: nothing is kept.
	CacheDir string

	// Trying has Try make every call, whatever became of the last ones: somebody
	// tries what a plugin does.
	Trying bool

	// Told is called when a plugin was loaded, replaced or removed, and when its
	// health changes. It must not block. nil: nobody wants to know.
	Told func(News)

	Logger *slog.Logger // nil: discards
}

// NewsKind is what News tells of.
type NewsKind string

// The kinds.
const (
	Loaded    NewsKind = "loaded"
	Unloaded  NewsKind = "unloaded"
	Unhealthy NewsKind = "unhealthy" // UnhealthyAfter failures in a row; on_error applies, without calls for a while
	Healthy   NewsKind = "healthy"   // it works again
)

// News is a change of one plugin.
type News struct {
	Kind   NewsKind
	Plugin Info
	Error  string // the last failure, of Unhealthy
}

// Info tells of one loaded plugin.
type Info struct {
	Name, Path, SHA256 string
	Pinned             bool
	Hooks              []Hook // that it is called at
	Order              int
	Binding            Binding
	OnError            OnError
	Timeout            time.Duration
	Memory             int64
	Tools              []string // names, without the plugin's
	Healthy            bool
	Error              string        // the last failure, while it is not healthy
	Compiled           time.Duration // what compiling took
}
