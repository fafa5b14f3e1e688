package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// The permission modes of a session. They are policy input first; what the engine
// itself makes of one is in this file, and in bypass.go.
const (
	modeDontAsk  = "dontAsk" // what would ask is denied
	modePlan     = "plan"    // the CLI plans, and changes nothing before its plan is accepted
	modeDefault  = "default"
	modeDelegate = "delegate" // policy input only
	modeEdits    = "acceptEdits"
	modeBypass   = "bypassPermissions"
)

// modes are all of them, as clients may write them.
var modes = []string{modeDefault, modeEdits, modePlan, modeDontAsk, modeDelegate, modeBypass}

// modeRank orders modes by what they let through: a session that is taken up again
// may be given one of the same rank or a lower one.
var modeRank = map[string]int{modeDontAsk: 0, modePlan: 1, modeDefault: 2, modeDelegate: 2, modeEdits: 3, modeBypass: 4}

func validateMode(mode string) error {
	if mode == "" || slices.Contains(modes, mode) {
		return nil
	}
	return Errorf(InvalidArgument, "permissionMode %q: want %s", clip(mode), strings.Join(modes, ", "))
}

// stricter is the mode of the lower rank, a when both have the same one.
func stricter(a, b string) string {
	if modeRank[cmp.Or(b, modeDefault)] < modeRank[cmp.Or(a, modeDefault)] {
		return b
	}
	return a
}

// modeAsked is the mode that parameters ask for.
func modeAsked(p StartParams) string { return cmp.Or(p.PermissionMode, modeDefault) }

// modeBeyond is the mode outside of plan mode of a session that was started in mode.
func modeBeyond(mode string) string {
	if mode == modePlan || mode == "" {
		return modeDefault
	}
	return mode
}

// heldModeLocked is the mode in which the session may be taken up again: as narrow as
// answers have made it.
func (s *Session) heldModeLocked() string {
	if s.mode == modePlan {
		return stricter(modePlan, s.beyond)
	}
	return s.beyond
}

// keepsMode gives a copy the mode of the session it is made of, but for what an
// answer loosened there.
func (s *Session) keepsMode(of *Session) {
	of.mu.Lock()
	mode, beyond := of.beyond, of.beyond
	if of.mode == modePlan {
		mode = modePlan
	}
	of.mu.Unlock()
	s.mu.Lock()
	s.mode, s.beyond = mode, beyond
	s.mu.Unlock()
	s.tellOrigin()
}

// plansOn keeps a session that planned when its token was made in plan mode where it is
// to ask nobody: a plan that nobody accepted is not accepted by that.
func (s *Session) plansOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.beyond == modeDontAsk {
		s.mode = modePlan
	}
}

// narrowToLocked takes over what answers once left of the mode, "" for nothing.
func (s *Session) narrowToLocked(narrowed string) {
	if narrowed == "" {
		return
	}
	s.beyond = stricter(s.beyond, narrowed)
	if s.mode != modePlan {
		s.mode = s.beyond
	}
}

// narrowedLocked is what answers left of the mode that was asked for, "" where they
// left it alone.
func (s *Session) narrowedLocked() string {
	if s.beyond == modeBeyond(modeAsked(s.params)) {
		return ""
	}
	return s.beyond
}

// cliMode is the mode its next process starts in. The CLI knows nothing of the
// others: what they mean is decided here.
func (s *Session) cliMode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == modePlan {
		return modePlan
	}
	return modeDefault
}

// followMode follows the CLI into and out of plan mode. A looser mode is never
// taken from it: out of plan mode leads to the mode the caller was admitted with,
// and only an admitted answer sets another.
func (s *Session) followMode(told string) {
	s.mu.Lock()
	mode := s.mode
	switch told {
	case modePlan:
		mode = modePlan
	case modeDefault:
		mode = modeBeyond(s.beyond)
	}
	follows := mode != s.mode
	s.mode = mode
	s.mu.Unlock()
	if follows {
		s.tellOrigin()
	}
}

// setModeLocked is what an answer did: it may loosen the mode until the CLI leaves
// it, and narrows it for good.
func (s *Session) setModeLocked(mode string) {
	if mode == s.mode {
		return
	}
	s.mode = mode
	if mode != modePlan {
		s.beyond = stricter(s.beyond, mode)
	}
}

// asksNobody says whether the session's mode makes every ask a denial.
func (s *Session) asksNobody() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beyond == modeDontAsk
}

// unasked is the denial of what would ask in a session in which nobody is asked.
func unasked(d permission.Decision) permission.Decision {
	rule := d.Rule
	d = deniedBy(d, "engine.dont_ask", fmt.Sprintf("permissionMode is dontAsk, and rule %s asks: %s", rule, cmp.Or(d.Reason, "no rule allows the call")))
	d.AgentMessage = "This call needs an approval (rule " + rule + "), and the session was started with permissionMode dontAsk, in which nobody is asked. Find a way that needs none, or say what you would have done."
	return d
}

// mode takes a given mode of the signed one's rank or below. What its caller wants
// no hooks or no tickets for stays so.
func (c *ceiling) mode() {
	if c.has("permissionMode") {
		c.out.PermissionMode = c.given.PermissionMode
		if asked, signed := modeAsked(c.given), modeAsked(c.signed); modeRank[asked] > modeRank[signed] {
			c.refuse("permissionMode", fmt.Sprintf("%s lets more through than the %s the token signs", asked, signed))
		}
	}
	c.out.NoHooks = c.signed.NoHooks || c.given.NoHooks
	c.out.NoTickets = c.signed.NoTickets || c.given.NoTickets
}
