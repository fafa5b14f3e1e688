package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// inprocFlags say which call of a tool in this process, or which result, is judged.
type inprocFlags struct {
	phase, passed string
	bytes         int
	isError       bool
}

// passedEffects are how a call can have passed the gate; ask stands for one that
// somebody allowed.
var passedEffects = []string{"allow", "ask", "modify", "abstain"}

func (p *inprocFlags) declare(f *flag.FlagSet) {
	f.StringVar(&p.phase, "phase", "", "of a call of a tool in the server: `call` (default) or result")
	f.StringVar(&p.passed, "passed", "", "the same: how it passed the gate, as an `effect`: allow (default), ask (somebody allowed it), modify, abstain (it passed none)")
	f.IntVar(&p.bytes, "bytes", 0, "the same: `size` of the result; makes --phase result the default")
	f.BoolVar(&p.isError, "is-error", false, "the same: the result is an error")
}

func (p inprocFlags) given() bool { return p != inprocFlags{} }

// check fills in what was not said; tool is the one named, if any.
func (p *inprocFlags) check(tool string, command bool) error {
	if command || serverOfTool(tool) == "" {
		return errors.New("--entrypoint inproc is about a tool of a server: --tool mcp__SERVER__TOOL with --input, or --document")
	}
	ofResult := p.bytes != 0 || p.isError
	if p.phase == "" {
		p.phase = permission.PhaseCall
		if ofResult {
			p.phase = permission.PhaseResult
		}
	}
	if p.passed == "" {
		p.passed = permission.Allow.String()
	}
	switch {
	case p.phase != permission.PhaseCall && p.phase != permission.PhaseResult:
		return fmt.Errorf("--phase %q: unknown, want call or result", p.phase)
	case p.phase == permission.PhaseCall && ofResult:
		return errors.New("--bytes and --is-error are about a result; leave out --phase call")
	case p.bytes < 0:
		return fmt.Errorf("--bytes %d: want 0 or more", p.bytes)
	case !slices.Contains(passedEffects, p.passed):
		return fmt.Errorf("--passed %q: unknown, want %s", p.passed, strings.Join(passedEffects, ", "))
	}
	return nil
}

// request is the call as the engine would have it judged.
func (p inprocFlags) request(r permission.Request) permission.InprocRequest {
	effect, _ := permission.ParseEffect(p.passed) // checked
	out := permission.InprocRequest{Call: r, Server: serverOfTool(r.Tool), Phase: p.phase, Passed: permission.Decision{Effect: effect}}
	out.Call.Door = permission.DoorInproc
	if effect == permission.Ask {
		out.Approver = "human"
	}
	if p.phase == permission.PhaseResult {
		out.Duration = time.Millisecond
		out.Result = permission.InprocResult{IsError: p.isError, Bytes: p.bytes, Blocks: []string{"text"}}
	}
	return out
}

// serverOfTool is the server that a tool's full name tells; empty for no such name.
func serverOfTool(name string) string {
	rest, found := strings.CutPrefix(name, "mcp__")
	server, tool, both := strings.Cut(rest, "__")
	if !found || !both || tool == "" {
		return ""
	}
	return server
}
