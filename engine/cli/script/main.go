package script

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Main plays a scenario as a process and returns its exit code. args are the
// command line without the program's name; they may begin with --scenario FILE
// or --scenario-builtin demo, the rest are options of the real CLI. Without a
// scenario it is a well-behaved CLI with nothing to say. When Main returns
// before stdin ends, its reader stays until stdin ends or the process does.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	sc, args, err := chooseScenario(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	return run(sc, args, stdin, stdout, stderr, watchSignals)
}

func chooseScenario(args []string) (Scenario, []string, error) {
	if len(args) == 0 {
		return Scenario{}, args, nil
	}
	name, value, joined := strings.Cut(args[0], "=")
	if name != "--scenario" && name != "--scenario-builtin" {
		return Scenario{}, args, nil
	}
	rest := args[1:]
	if !joined {
		if len(rest) == 0 {
			return Scenario{}, nil, fmt.Errorf("scripted cli: %s needs a value", name)
		}
		value, rest = rest[0], rest[1:]
	}
	if name == "--scenario" {
		sc, err := Load(value)
		return sc, rest, err
	}
	if value != "demo" {
		return Scenario{}, nil, fmt.Errorf("scripted cli: builtin scenario %q is unknown, want \"demo\"", value)
	}
	return Demo, rest, nil
}

// run checks the command line and plays the scenario. watch, if not nil,
// connects the process's signals.
func run(sc Scenario, args []string, stdin io.Reader, stdout, stderr io.Writer, watch func(*process) func()) int {
	o, err := parseFlags(args)
	if err == nil && o.has("--version") {
		fmt.Fprintf(stdout, "%s (Claude Code)\n", sc.version())
		return 0
	}
	if err == nil {
		err = o.check()
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if e := sc.ExitAtStart; e != nil {
		fmt.Fprintln(stderr, e.Stderr)
		return e.Code
	}
	p := newProcess(sc, o, stdin, stdout, stderr)
	if watch != nil {
		defer watch(p)()
	}
	return p.run()
}

// pipeArgs are the options Pipe adds: those every host passes.
var pipeArgs = []string{
	"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio",
}

// Pipe plays a scenario in memory, with nothing but channels and io.Pipe in
// between, so that it can run inside a testing/synctest bubble. args follow the
// options every host passes. The caller must read stdout to its end; wait
// blocks until the script has ended and returns the exit code.
func Pipe(s Scenario, args ...string) (stdin io.WriteCloser, stdout io.Reader, wait func() int) {
	return pipe(s, io.Discard, args, nil)
}

func pipe(s Scenario, stderr io.Writer, args []string, watch func(*process) func()) (io.WriteCloser, io.Reader, func() int) {
	args = append(append([]string{}, pipeArgs...), args...)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	code := 0
	go func() { // ends with the script
		defer close(done)
		code = run(s, args, inR, outW, stderr, watch)
		outW.Close()
		inR.CloseWithError(os.ErrClosed)
	}()
	return inW, outR, func() int { <-done; return code }
}
