package policy

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// maxToolName bounds a tool's name in bytes. It is no count within toolName:
// compiling that took a millisecond of every start.
const maxToolName = 256

// toolName is what a tool may be called; rules compare names exactly, and a
// look-alike letter would pass them by.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]+$`)

// Decide judges one call. It never returns an error and never Abstain: what
// fails is a deny, and where no policy allows, the default effect holds.
// Modify carries the changed input, which the caller has to judge again.
func (s *Set) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	return s.guarded(ctx, func(ctx context.Context) permission.Decision {
		d := s.decide(ctx, r)
		if d.Effect != permission.Ask || d.UpdatedInput == nil {
			return d
		}
		// A question about a changed input: the change itself is judged first.
		changed := r
		changed.Input = d.UpdatedInput
		again := s.decide(ctx, changed)
		if again.Effect == permission.Modify {
			return s.refuse("engine.modify_loop", "the policies changed the input twice")
		}
		if again.Effect > permission.Ask {
			return again
		}
		return d
	}), nil
}

func (s *Set) decide(ctx context.Context, r permission.Request) permission.Decision {
	if len(r.Tool) > maxToolName || !toolName.MatchString(r.Tool) {
		return s.refuse("engine.tool_name", fmt.Sprintf("tool name %.80q has letters no tool has", r.Tool))
	}
	object, err := decodeInput(r.Input)
	if err != nil {
		return s.unreadable(err)
	}
	input := toTerm(s.describe(r, object)).Value
	var all []verdict
	for _, l := range s.layers {
		if l.permission == nil {
			continue
		}
		verdicts, failure := s.ask(ctx, l, l.permission, input)
		if failure != nil {
			return *failure
		}
		all = append(all, verdicts...)
	}
	return s.settle(all, r.Input)
}

func (s *Set) unreadable(err error) permission.Decision {
	var limit *limitError
	if errors.As(err, &limit) {
		return s.refuse(limit.rule, limit.message)
	}
	return s.refuse("engine.input", err.Error())
}
