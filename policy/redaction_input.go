package policy

// redactionInput is the document redaction/v1: the sort of a payload that is
// about to be stored or handed on. What it says is remembered for all payloads of
// the sort, so it holds nothing that differs from one to the next: no content, no
// clock, no ids of calls.
type redactionInput struct {
	Schema  string           `json:"schema" doc:"name and version of this document"`
	Profile string           `json:"profile" doc:"built-in profile in force"`
	Server  serverFacts      `json:"server"`
	Caller  originInput      `json:"caller" doc:"who started the session"`
	Session redactingSession `json:"session" doc:"empty for what belongs to no session"`
	Event   payloadInput     `json:"event"`
	Sink    sinkInput        `json:"sink"`
}

type originInput struct {
	Client    string   `json:"client" doc:"name the MCP client gave; terminal for gatehouse run"`
	Transport string   `json:"transport" doc:"stdio, terminal, http"`
	Subject   string   `json:"subject" doc:"authenticated identity; empty over stdio"`
	Groups    []string `json:"groups" doc:"of the subject"`
}

type redactingSession struct {
	ID      string   `json:"id" doc:"UUID"`
	Cwd     string   `json:"cwd" doc:"absolute, links resolved"`
	Mode    string   `json:"mode" doc:"permission mode; outside of a session empty" enum:"default,acceptEdits,plan,dontAsk,delegate,bypassPermissions,"`
	Model   string   `json:"model" doc:"that was asked for"`
	Trusted bool     `json:"trusted" doc:"the folder's own settings are loaded live"`
	Taint   []string `json:"taint" doc:"key:value of the labels of calls that were let through"`
}

type payloadInput struct {
	Type    string       `json:"type" doc:"kind of the event; tool_result for the output of a tool in any sink; notice for what is no event" enum:"output,tool_result,partial,progress,permission_request,permission_result,result,error,notice,"`
	Subtype string       `json:"subtype" doc:"the payload's own member type, as assistant, task_started; of a partial that of its event; empty where there is none or it is no plain word"`
	Stream  string       `json:"stream" doc:"delta: a piece of a text that goes on" enum:"whole,delta"`
	Role    string       `json:"role" doc:"of what an assistant or a tool said" enum:"assistant,user,"`
	Blocks  []blockInput `json:"blocks" doc:"what the payload holds, each sort once; empty for progress and notices"`
}

type blockInput struct {
	Type    string `json:"type" doc:"text, thinking, tool_use (a tool's input), tool_result (a tool's output), or as the model's API calls it"`
	Tool    string `json:"tool" doc:"name of the tool; empty for other blocks, and where it is not known"`
	IsError bool   `json:"is_error" doc:"of a tool_result: the tool failed"`
}

type sinkInput struct {
	Kind string `json:"kind" doc:"event: the history, of which polls and journal share one copy; model: what the model reads" enum:"event,model,audit,log,stderr,plugin"`
}
