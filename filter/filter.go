// Package filter is a program that covers secrets in what a session's commands
// print, before anything of it is stored or read by the model.
//
// The CLI starts it in place of a command, with the command as its one argument
// (CLAUDE_CODE_SHELL_PREFIX). It has no binary of its own: a program that imports
// this package is the filter whenever it is started under [Name]:
//
//	import _ "github.com/gatehouse-mcp/gatehouse/filter"
//
// A command runs as it would without: same folder, input, process group, limits
// and exit. Its output passes through pipes and is written on at once, except
// for what may be the beginning of a secret. Without a readable plan in
// [SpecVariable] nothing is run and the exit is 126. The filter writes no log.
package filter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Name is the name under which a program is the filter.
const Name = "gatehouse-filter"

// Variables of the filter; what it starts does not see them.
const (
	SpecVariable = "GATEHOUSE_FILTER"      // Spec as JSON, at most MaxSpec bytes
	SumVariable  = "GATEHOUSE_FILTER_SUM"  // SHA-256 of it in hex: who sets variables later, such as a settings file, cannot change it
	ModeVariable = "GATEHOUSE_FILTER_MODE" // empty: text; "mcp:" and a name: the command is that MCP server
)

// Spec is what a filter covers.
type Spec struct {
	redact.Spec

	// Variables are names of variables, by the names their values are told as. The
	// values are read where the filter runs: a session has the variables anyway, and
	// a plan that is handed on holds no secret.
	Variables map[string]string `json:"variables,omitempty"`
}

// minValue is how many bytes a variable's value needs to be covered.
const minValue = 8

const (
	// MaxSpec bounds a plan, in bytes: one variable of an environment holds 128 KiB.
	MaxSpec = 96 << 10

	prefixVariable = "CLAUDE_CODE_SHELL_PREFIX"
	modeMCP        = "mcp:"
	drainCommand   = "drain" // of two arguments; the CLI gives one
)

// Exits of the filter's own, as shells use them.
const (
	exitRefused  = 126
	exitNotFound = 127
	exitSignal   = 128 // and the signal's number
)

// The work is done in init, against the rule: packages are initialised in the
// order of their paths, and this one comes before the policy engine and the
// other large ones, so that a command pays 1 ms for this program's start
// instead of 9 (measured with `gatehouse version`, which initialises all).
func init() {
	if len(os.Args) > 0 && base(os.Args[0]) == Name {
		os.Exit(run(os.Args[1:], os.Environ()))
	}
}

// base is filepath.Base, whose package is initialised late: it would come with
// everything between.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// run is one run of the filter; it returns the exit code.
func run(args, environ []string) int {
	f, err := read(environ)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: the command was not run: %v\n", Name, err)
		return exitRefused
	}
	switch {
	case len(args) == 2 && args[0] == drainCommand:
		return f.drain()
	case len(args) != 1:
		fmt.Fprintf(os.Stderr, "%s: the command was not run: want it as one argument, got %d\n", Name, len(args))
		return exitRefused
	}
	return f.command(args[0])
}

// filter is what one run goes by.
type filter struct {
	spec    redact.Spec
	plan    *redact.Plan
	server  string // name of the MCP server; empty: text
	isMCP   bool
	stopped bool     // the server was ended for what it printed
	environ []string // of the command
	own     []string // of this process
}

func read(environ []string) (*filter, error) {
	f := &filter{own: environ, environ: make([]string, 0, len(environ))}
	var text, sum string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case SpecVariable:
			text = value
		case SumVariable:
			sum = value
		case ModeVariable:
			f.server, f.isMCP = strings.CutPrefix(value, modeMCP)
		case prefixVariable: // a CLI that the command starts has no plan to filter by
		default:
			f.environ = append(f.environ, kv)
		}
	}
	var spec Spec
	if err := decode(text, sum, &spec); err != nil {
		return nil, fmt.Errorf("%w, so that secrets in its output would not be covered; the session must be started anew by gatehouse", err)
	}
	f.spec = spec.Spec
	for told, name := range spec.Variables {
		if value := f.variable(name); len(value) >= minValue {
			if f.spec.Options.Values == nil {
				f.spec.Options.Values = make(map[string]string, len(spec.Variables))
			}
			f.spec.Options.Values[told] = value
		}
	}
	if f.plan = new(redact.Plan); reflect.DeepEqual(f.spec, redact.Spec{}) {
		return f, nil // the zero plan costs nothing to make
	}
	var err error
	if f.plan, err = redact.NewPlan(f.spec); err != nil {
		return nil, fmt.Errorf("the plan in %s cannot be used: %w", SpecVariable, err)
	}
	return f, nil
}

// variable is the command's variable of a name, empty when it has none.
func (f *filter) variable(name string) string {
	for _, kv := range f.environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// decode refuses what it does not know: it could be what covers a secret.
func decode(text, sum string, spec *Spec) error {
	switch {
	case text == "":
		return fmt.Errorf("%s is not set", SpecVariable)
	case len(text) > MaxSpec:
		return fmt.Errorf("%s has %d bytes, at most %d are read", SpecVariable, len(text), MaxSpec)
	}
	if is := sha256.Sum256([]byte(text)); hex.EncodeToString(is[:]) != sum {
		return fmt.Errorf("%s is not the plan that %s is the sum of", SpecVariable, SumVariable)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(spec); err != nil {
		return fmt.Errorf("%s holds no plan: %w", SpecVariable, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s holds more than a plan", SpecVariable)
	}
	return nil
}
