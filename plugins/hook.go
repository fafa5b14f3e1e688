package plugins

// ABI is the module that plugins import. Its name holds the version.
const ABI = "gatehouse.hook.v1"

// Hook is a point at which plugins are called: the name of a module's export.
type Hook string

// The hooks.
const (
	SessionAdmit  Hook = "session_admit"  // a start, fork, resume or reply: verdict and annotations
	PrePermission Hook = "pre_permission" // a call before it runs: verdict and annotations
	PostTool      Hook = "post_tool"      // the output of a tool before the model reads it: edits
	RedactHook    Hook = "redact"         // whatever is stored, shown or read by the model: edits
	SessionEvent  Hook = "session_event"  // an event that was stored: nothing
	ToolsList     Hook = "tools_list"     // once at load: tools
	ToolsCall     Hook = "tools_call"     // a call of such a tool: its result
)

// Hooks are all hooks.
var Hooks = []Hook{SessionAdmit, PrePermission, PostTool, RedactHook, SessionEvent, ToolsList, ToolsCall}
