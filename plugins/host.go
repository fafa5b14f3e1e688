package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Host holds the plugins in force. It is safe for concurrent use.
type Host struct{}

var (
	_ permission.Annotator = (*Host)(nil)
	_ admission.Annotator  = (*Host)(nil)
	_ event.Redactor       = (*Host)(nil)
	_ event.Streamer       = (*Host)(nil)
	_ event.Observer       = (*Host)(nil)
)

var errNotYet = errors.New("plugins: not built yet")

// Load loads plugins. The error tells what is wrong with each that cannot be.
func Load(ctx context.Context, o Options) (*Host, error) { return nil, errNotYet }

// Reload replaces the plugins: the new ones are made aside, then take the place of
// the old ones, whose calls go on to their end. On an error nothing has changed.
// A plugin whose file and settings are as they were stays as it is.
func (h *Host) Reload(ctx context.Context, plugins []Config) error { return errNotYet }

// Close waits for calls to end, or for ctx, and frees everything.
func (h *Host) Close(ctx context.Context) error { return nil }

// Plugins tells of all plugins, in the order they are called in.
func (h *Host) Plugins() []Info { return nil }

// Revision names the plugins in force with their settings; empty: there are none.
func (h *Host) Revision() string { return "" }

// Annotate calls pre_permission of each plugin.
func (h *Host) Annotate(ctx context.Context, r permission.Request) []permission.Annotation {
	return nil
}

// AnnotateAdmission calls session_admit of each plugin, for start, fork, resume and reply.
func (h *Host) AnnotateAdmission(ctx context.Context, r admission.Request) []permission.Annotation {
	return nil
}

// Redact calls redact of each plugin, and post_tool for the output of a tool on
// its way to the model.
func (h *Host) Redact(ctx context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	return nil, nil, errNotYet
}

// Stream holds a text back until it is whole where a plugin has the hook redact.
func (h *Host) Stream(ctx context.Context, p event.Payload) (event.Stream, error) {
	return nil, errNotYet
}

// Observe calls session_event.
func (h *Host) Observe(o *event.Origin, e event.Event) {}

// Ended forgets what plugins keep for a session.
func (h *Host) Ended(sessionID string) {}

// SeesOutput says whether a healthy plugin of that name has the hook post_tool.
func (h *Host) SeesOutput(name string) bool { return false }

// Tool is a tool that a plugin offers.
type Tool struct {
	Plugin      string
	Name        string
	Description string
	InputSchema json.RawMessage // a JSON schema of type object
	Annotations json.RawMessage // MCP tool annotations; nil: none
}

// Tools are those of all plugins, by plugin and name.
func (h *Host) Tools() []Tool { return nil }

// CallTool calls a plugin's tool for a session. The result is an MCP tool result:
// {"content": […], "isError"?: bool}. An error tells that there is none.
func (h *Host) CallTool(ctx context.Context, plugin, tool, sessionID string, arguments json.RawMessage) (json.RawMessage, error) {
	return nil, errNotYet
}

// Outcome is what one call gave.
type Outcome struct {
	Verdict     permission.Effect // Abstain: it passed
	Reason      string
	Annotations map[string]json.RawMessage
	Output      json.RawMessage // nil: none
	Log         []string        // "level: text"
	Took        time.Duration
	Memory      int64 // bytes of linear memory at its end
}

// Try calls one hook with a document given as a JSON object, as the commands
// "plugin run" and "plugin check" do: members that are missing are filled in. The
// error is why the outcome would not count; on_error is not applied.
func (h *Host) Try(ctx context.Context, plugin string, hook Hook, document json.RawMessage) (Outcome, error) {
	return Outcome{}, errNotYet
}
