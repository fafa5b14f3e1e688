package toolhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// options say what the program does. Tools are named mcp__SERVER__TOOL.
type options struct {
	servers string        // of this process, separated by commas
	turns   int           // user messages
	timeout time.Duration // of a call of a tool
	init    time.Duration // for the CLI's start
	flying  int           // calls under way at one server, at most
	denials int           // in a turn, before it is interrupted

	deny     string // the gate denies this tool
	denyLate string // and this one, as soon as a call of "slow" runs
	change   string // TOOL=JSON: the gate gives this tool another input
	refuse   string // PHASE:TOOL: the judge of calls and results refuses
	panics   string // PHASE:TOOL: it panics
	stalls   string // TOOL: it does not judge a call until that is cancelled
	unjudged bool   // there is no judge
	cover    string // a word that redactors cover
	leaveOut string // a server no session is given
	cancel   bool   // the session is cancelled when a call of "slow" runs
}

func parse(args []string) (o options, scenario string, err error) {
	f := flag.NewFlagSet("toolhost", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.servers, "servers", "lab", "")
	f.IntVar(&o.turns, "turns", 1, "")
	f.DurationVar(&o.timeout, "timeout", 0, "")
	f.DurationVar(&o.init, "init", time.Minute, "")
	f.IntVar(&o.flying, "flying", 0, "")
	f.IntVar(&o.denials, "denials", -1, "")
	f.StringVar(&o.deny, "deny", "", "")
	f.StringVar(&o.denyLate, "deny-late", "", "")
	f.StringVar(&o.change, "change", "", "")
	f.StringVar(&o.refuse, "refuse", "", "")
	f.StringVar(&o.panics, "panics", "", "")
	f.StringVar(&o.stalls, "stalls", "", "")
	f.BoolVar(&o.unjudged, "unjudged", false, "")
	f.StringVar(&o.cover, "cover", "", "")
	f.StringVar(&o.leaveOut, "leave-out", "", "")
	f.BoolVar(&o.cancel, "cancel", false, "")
	if err := f.Parse(args); err != nil {
		return o, "", err
	}
	if f.NArg() != 1 {
		return o, "", errors.New("usage: toolhost [flags] scenario")
	}
	scenario, err = filepath.Abs(f.Arg(0))
	return o, scenario, err
}

// runLimit bounds a run; one that needs it has failed.
const runLimit = 4 * time.Minute

// toolhost plays a scenario and prints one line for each event of the session
// ("TYPE JSON"), each judgement ("judged JSON") and, at the end, what became of
// each tool ("tool SERVER TOOL started=N ended=N cancelled=N").
func toolhost(args []string) error {
	o, scenario, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), runLimit)
	defer stop()
	out := &printer{}
	bench := newWorkbench()
	e, err := engine.New(o.engine(scenario, bench, out))
	if err != nil {
		return err
	}
	err = o.converse(ctx, e, bench, out)
	if closeErr := e.Close(ctx); err == nil && closeErr != nil {
		err = fmt.Errorf("close: %w", closeErr)
	}
	bench.report(out)
	if left := testleak.Left(permanent, reaper); err == nil && left != "" {
		err = errors.New("goroutines are left:\n" + left)
	}
	return err
}

func (o options) engine(scenario string, bench *workbench, out *printer) engine.Options {
	j := judge{options: o, bench: bench, out: out}
	opts := engine.Options{
		Executable: "scripted-cli", Args: []string{"--scenario", scenario}, Roots: []string{"project"},
		Deciders:    []permission.Decider{permission.DeciderFunc(j.gate)},
		Admission:   []admission.Decider{admission.DeciderFunc(j.admit)},
		ToolServers: map[string]engine.ToolServer{}, MaxDenials: o.denials,
	}
	if cwd, err := filepath.Abs("project"); err == nil {
		opts.Roots = []string{cwd}
	}
	for name := range strings.SplitSeq(o.servers, ",") {
		opts.ToolServers[name] = inproc.Serve(bench.server(name), &inproc.Options{Timeout: o.timeout, MaxInFlight: o.flying})
	}
	if !o.unjudged {
		opts.Inproc = []permission.InprocDecider{permission.InprocFunc(j.inproc)}
	}
	if o.cover != "" {
		opts.Redactors = []event.Redactor{event.RedactorFunc(o.redact)}
	}
	return opts
}

func (o options) redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	n := bytes.Count(p.Data, []byte(o.cover))
	if n == 0 {
		return p.Data, nil, nil
	}
	covered := bytes.ReplaceAll(p.Data, []byte(o.cover), []byte("[COVERED]"))
	return covered, []event.Redaction{{Detector: "word", Count: n}}, nil
}

// converse plays the turns.
func (o options) converse(ctx context.Context, e *engine.Engine, bench *workbench, out *printer) error {
	s, err := e.Start(ctx, engine.StartParams{Prompt: "turn 1", SessionInitTimeout: o.init})
	if err != nil {
		return err
	}
	if o.cancel {
		go func() { // ends when a call of slow runs, or with the program
			<-bench.slow
			_ = s.Cancel(ctx, "the test wants it", "test") // one that ended needs no cancelling
		}()
	}
	for n := 1; ; n++ {
		for page := range s.Pages(ctx) {
			for _, ev := range page.Events {
				out.print("%s %s", ev.Type, ev.Data)
			}
		}
		if n == o.turns || ctx.Err() != nil {
			return ctx.Err()
		}
		if s, err = s.Prompt(ctx, engine.ReplyParams{Prompt: fmt.Sprintf("turn %d", n+1)}); err != nil {
			return err
		}
	}
}

// printer writes whole lines to stdout, from any goroutine.
type printer struct{ mu sync.Mutex }

func (p *printer) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}
