package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// While Configure has enabled it, sessions of mode bypassPermissions get an allow
// where they would be asked. The lift comes after judging, at the one place where a
// question would be put: no decision that is kept, or carried from one door to the
// other, is ever a lifted one, so that the end of the bypass needs nobody to be told.
// It lifts no deny, and of the CLI it changes nothing.

// Bounds of Options.BypassTTL.
const (
	DefaultBypassTTL = 15 * time.Minute
	MaxBypassTTL     = 24 * time.Hour
)

// ruleBypass lets run what a rule asks about, and refuses what needs the bypass.
const ruleBypass = "engine.bypass"

// byBypass is Decision.By, and the source in events, of what was let run so.
const byBypass = "bypass"

// The actions of Configure.
const (
	enableBypass  = "enable_bypass"
	disableBypass = "disable_bypass"
	getConfig     = "get_config"
)

// Bypass says whether, and until when, Engine.Configure has enabled the mode
// bypassPermissions.
type Bypass struct {
	Enabled bool
	Until   time.Time // zero unless Enabled
}

// bypass is what Configure has enabled. It dies with the process.
type bypass struct {
	mu       sync.Mutex
	until    time.Time // zero: not enabled
	revision string    // of policies and plugins; others in force end it
	ends     int       // how often it was disabled
}

// now looks whether it holds; once it does not, it never does again. Both clocks
// count: the monotonic one may stand still while the machine sleeps, and the other
// one may be set back.
func (b *bypass) now(revision string) Bypass {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := time.Now()
	if b.until.IsZero() || b.revision != revision || !at.Before(b.until) || !at.Round(0).Before(b.until.Round(0)) {
		b.until = time.Time{}
		return Bypass{}
	}
	return Bypass{Enabled: true, Until: b.until.Round(0).UTC()}
}

// ended counts the disablings, for enable.
func (b *bypass) ended() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ends
}

// enable lets it hold from now on, anew where it does already; false when it was
// disabled since ends were counted.
func (b *bypass) enable(ttl time.Duration, revision string, ends int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ends != ends {
		return false
	}
	b.until, b.revision = time.Now().Add(ttl), revision
	return true
}

func (b *bypass) disable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until, b.ends = time.Time{}, b.ends+1
}

// bypassed is what holds now.
func (e *Engine) bypassed() Bypass { return e.bypass.now(e.chain.Revision()) }

// Configure is a decision about the engine itself, with action "enable_bypass",
// "disable_bypass" or "get_config", and returns what holds after it; with an error
// too, but not to whom get_config is refused. Enabling lasts for Options.BypassTTL,
// anew each time, and ends sooner when other policies or plugins come into force.
func (e *Engine) Configure(ctx context.Context, action string) (Bypass, error) {
	if !slices.Contains([]string{enableBypass, disableBypass, getConfig}, action) {
		return Bypass{}, Errorf(InvalidArgument, "configure: action %q: want %s, %s or %s", clip(action), enableBypass, disableBypass, getConfig)
	}
	revision, ends := e.chain.Revision(), e.bypass.ended() // read first: nothing that comes in between is undone
	quoted, _ := plainJSON(action)
	r := admission.Request{Action: admission.Configure, Roots: e.o.Roots, Parameters: map[string]json.RawMessage{"action": quoted}}
	err := e.admit(ctx, nil, r)
	switch {
	case err != nil && action == getConfig:
		return Bypass{}, err
	case err != nil:
	case action == disableBypass:
		e.bypass.disable()
		e.tellBypass("the bypass was disabled; this session asks again")
	case action == enableBypass:
		err = e.enableBypass(ctx, r, revision, ends)
	}
	return e.bypassed(), err
}

// enableBypass does what was admitted under that revision, with that many disablings
// before.
func (e *Engine) enableBypass(ctx context.Context, r admission.Request, revision string, ends int) error {
	enabled := e.bypass.enable(e.o.BypassTTL, revision, ends)
	if b := e.bypassed(); enabled && b.Enabled {
		e.tellBypass(fmt.Sprintf("questions are answered by the mode bypassPermissions until %s; denials stay", stamp(b.Until)))
		return nil
	}
	err := Errorf(PermissionDenied, "configure refused by rule %s: it was disabled, or other policies came into force, in that very moment; try again", ruleBypass)
	e.recordRefusal(ctx, nil, r, err)
	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tellBypass tells the sessions that it concerns.
func (e *Engine) tellBypass(message string) {
	for _, s := range e.all() {
		if s.standing() != Cancelled && s.facts().Mode == modeBypass {
			s.lifted.Store(false)
			s.notice(byBypass, message, nil)
		}
	}
}

// aboutBypass is what holds of an admission whatever the policies say: no session
// is given the mode while it is not enabled, and what only tightens does not depend
// on whether the policies can be asked.
func (e *Engine) aboutBypass(r admission.Request, d permission.Decision, err error) (permission.Decision, error) {
	if r.Action == admission.Configure && textOf(r.Parameters["action"]) == disableBypass && (err != nil || slices.Contains(failures, d.Rule)) {
		d.Effect, d.Rule, d.By, d.Layer = permission.Allow, ruleBypass, "engine", ""
		d.Reason = "the policies could not be asked, and to end the bypass takes none"
		return d, nil
	}
	started := r.Action == admission.Start && textOf(r.Parameters["permissionMode"]) == modeBypass
	if err == nil && d.Effect == permission.Allow && started && !r.Bypass.Enabled {
		return deniedBy(d, ruleBypass, "permissionMode bypassPermissions is not enabled here; claude_code_configure enables it, where the configuration has [tools] configure and its grant"), nil
	}
	return d, err
}

// withMode is what a caller sent and the mode its session would have, which the
// program's own settings may have chosen: no mode comes past the policies, nor does
// one under the word for another.
func withMode(raw map[string]json.RawMessage, mode string) map[string]json.RawMessage {
	if mode == "" || textOf(raw["permissionMode"]) == mode {
		return raw
	}
	raw = maps.Clone(raw)
	if raw == nil {
		raw = make(map[string]json.RawMessage, 1)
	}
	raw["permissionMode"], _ = plainJSON(mode)
	return raw
}

// configureDetail is what an auditor is told of a configure: how long it is for.
func (e *Engine) configureDetail(action string) json.RawMessage {
	detail := map[string]any{"action": action}
	if action == enableBypass {
		detail["ttl_s"] = int64(e.o.BypassTTL / time.Second)
	}
	return auditDetail(detail)
}
