package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Isolation says what happens when the CLI does not hold the gate's settings.
type Isolation string

// The choices of Options.OnUnsafeSettings.
const (
	Isolate Isolation = "isolate" // start again without any settings file
	Refuse  Isolation = "refuse"
)

// Options configures an Engine. The zero value works and lets nothing happen: without
// Admission no session starts, without Deciders every call is denied. Where none of
// them has an opinion somebody is asked.
type Options struct {
	Executable string   // the CLI; empty: "claude" on PATH, looked up once
	MinVersion string   // oldest CLI accepted; empty: "2.1.197"
	Args       []string // put before our own arguments (an interpreter's script)

	// Roots are the folders sessions may live in, absolute. None: the current folder,
	// which may be neither the home folder, nor above it, nor the root of a file system.
	Roots   []string
	Trusted []string // roots whose project settings are loaded live

	Deciders  []permission.Decider
	Admission []admission.Decider // none: every start is denied
	Redactors []event.Redactor

	Annotators          []permission.Annotator // plugins, heard before Deciders
	AdmissionAnnotators []admission.Annotator  // heard before Admission, of starts, forks, resumes and replies
	Observers           []event.Observer       // told of every event of a session but partial ones

	// OutputPlugin says whether a plugin sees the output of tools now, which the
	// obligation run_plugin demands. nil: none does.
	OutputPlugin func(name string) bool

	// ToolServers are MCP servers of this process, by name: 1 to 64 of A-Z, a-z, 0-9,
	// _ and -, with no _ at either end and no two in a row. Each session is offered
	// those that Admission lets it have (action mcp_server, source "gatehouse").
	ToolServers map[string]ToolServer

	// PluginServers are further ones, of plugins (source "plugin"); it is asked when a
	// session begins, from any goroutine, and has 5 s. One that has the name of a
	// ToolServer is left out. nil: none.
	PluginServers func() map[string]ToolServer

	// Inproc judges each call of a tool of theirs before it runs, and its result
	// before the session gets it, beside Deciders. All have to allow, each call or
	// result within 5 s together; what panics denies. Of an allow, obligations about
	// the output are met and labels kept. They are asked only of calls that passed the
	// gate with this very input, once for each allow there; any other is refused by
	// rule engine.inproc, whatever they would say. nil: what passed may run, and its
	// result may pass.
	Inproc []permission.InprocDecider

	// OnExposedSecret is for a secret in the error of a failed call, which cannot be
	// covered before the model reads it. Empty: ReportExposed.
	OnExposedSecret Exposure

	DenyReads []string // CLI Read rules for protected paths, e.g. "//etc/shadow", "**/.env"

	// Mentions finds the files a prompt would attach ("@path"), so that they are
	// judged as reads. nil: a prompt with an "@" is refused.
	Mentions func(prompt string) []string

	OnUnsafeSettings   Isolation     // empty: Isolate
	DisableAttachments bool          // profiles ci and locked
	Unattended         bool          // nobody can answer: every ask is a deny
	MaxConcurrent      int           // running turns; 0 = 5
	TurnTimeout        time.Duration // 0 = 4 h
	IdleTTL            time.Duration // 0 = 30 min
	SweepEvery         time.Duration // how often what is idle or over its limit is looked for; 0 = 5 s
	BypassTTL          time.Duration // how long Engine.Configure enables the mode bypassPermissions; 0 = 15 min, at most 24 h
	MaxPending         int           // open questions a session; 0 = 64
	MaxQuestions       int           // questions a session may put in a minute; 0 = 30, < 0 = no limit
	MaxDenials         int           // denials in one turn before it is interrupted; 0 = 20, < 0 = no limit
	ApprovalTimeout    time.Duration // 0 = 60 s
	MaxEventBytes      int64         // events kept in memory a session; 0 = 4 MiB, with a Store 1 MiB
	MaxLineBytes       int           // one line of the CLI; 0 = 16 MiB

	// OwnProgramServers hands sessions MCP servers that are this very program, and
	// lets callers name it: for a program that is a server of another kind too,
	// and whose servers start no sessions.
	OwnProgramServers bool

	// Approvers are who can answer questions here: "client" (polls) and "human" (a
	// person, by Answer.Approver). What needs others is denied at once. nil: both.
	Approvers []string

	WarmTTL time.Duration // a process without work is kept this long for a reply; 0 = 30 s

	DiskResume   bool          // Engine.Resume may be used
	ResumeSecret Secret        // signs resume tokens; empty: none are given out
	ResumeTTL    time.Duration // a token is good for this long; 0 = 30 days, the most

	// Filter is a program that imports package filter; the CLI starts commands, and
	// MCP servers on stdio, through it, so that secrets in their output are covered
	// also where no hook can: in failing, interrupted and background commands.
	// Absolute; empty: no filter. Not for Windows.
	Filter string

	// FilterSpec returns what the filter of a session covers, as JSON of a
	// filter.Spec, at most 96 KiB. It is asked whenever a process of the session
	// starts, which fails where it does. Required with Filter.
	FilterSpec func(ctx context.Context, o *event.Origin) (string, error)

	// StateDir holds the locks that keep two servers from working on one session,
	// and the records of those that can be resumed. It is made if need be; a
	// session does not start where that fails. Empty: only this engine is guarded,
	// and nothing can be resumed.
	StateDir string

	// Store keeps sessions beyond this process, so that they can be listed, read
	// and resumed later, and so that memory holds only their newest events. A
	// session that cannot be stored does not start; while the store cannot be
	// written to, calls are denied. nil: sessions live and end in memory.
	Store event.Store

	// Audit is told of each decision before it takes effect. One that cannot be
	// recorded is a deny. nil: nothing is recorded.
	Audit audit.Recorder

	// Processes notes each process of a session on disk before it gets a prompt, so
	// that a later server can end what a crash left behind. nil: nothing is noted.
	Processes *cli.Registry

	// Server is this server's id in session records.
	Server string

	// MaxProcesses bounds the CLIs that live at once, over it a start or a reply
	// fails with LIMIT; 0: what the limit on open files allows, see cli.MaxProcesses.
	MaxProcesses int

	// Withheld are names of variables that no session gets: not from Environ, not from
	// a caller, and a server of a session that sets one is refused.
	Withheld []string

	Environ []string     // the owner's environment; nil: os.Environ()
	TempDir string       // for MCP configuration files; empty: os.TempDir()
	Logger  *slog.Logger // nil: discards
}
