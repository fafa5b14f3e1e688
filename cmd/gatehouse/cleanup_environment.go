package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The variables of clients that set how sessions are cleaned up, in milliseconds.
const (
	sessionTTLVariable = "CLAUDE_CODE_MCP_SESSION_TTL_MS"
	runningMaxVariable = "CLAUDE_CODE_MCP_RUNNING_SESSION_MAX_MS"
	cleanupVariable    = "CLAUDE_CODE_MCP_CLEANUP_INTERVAL_MS"
)

// detailsVariable refuses includeSensitive with "0" or "false"; else policy decides.
const detailsVariable = "CLAUDE_CODE_MCP_ALLOW_SENSITIVE_SESSION_DETAILS"

// maxSweep bounds the time between two looks for what is idle or over its limit.
const maxSweep = time.Hour

// variables is what the environment of the server sets.
type variables struct {
	sweepEvery time.Duration  // 0: the engine's default
	noDetails  bool           // includeSensitive is refused
	inForce    []heldVariable // in the order they are read
	overruled  []string       // warnings: those that are set and do not hold
}

// heldVariable is one that is set and holds.
type heldVariable struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"` // absent for a secret
	Effect string `json:"effect"`
}

// overlay puts variables between the defaults and the files: over no key that a
// file or a flag sets, and over none that is locked. One that makes no sense is an
// error all the same, since whoever set it relies on it.
func (l *loaded) overlay(env environment) error {
	v := &l.variables
	for _, limit := range []struct {
		name, key string
		target    *string
	}{
		{sessionTTLVariable, "limits.idle_ttl", &l.Limits.IdleTTL},
		{runningMaxVariable, "limits.turn_timeout", &l.Limits.TurnTimeout},
	} {
		d, err := env.milliseconds(limit.name, maxDuration)
		if err != nil {
			return err
		}
		if d == 0 {
			continue
		}
		if why := l.overrules(limit.key); why != "" {
			v.overruled = append(v.overruled, fmt.Sprintf("%s is set, but %s", limit.name, why))
			continue
		}
		*limit.target, l.at[limit.key] = d.String(), limit.name
		l.hold(env, limit.name, fmt.Sprintf("%s = %q", limit.key, d))
	}
	d, err := env.milliseconds(cleanupVariable, maxSweep)
	if err != nil {
		return err
	}
	if v.sweepEvery = d; d != 0 {
		l.hold(env, cleanupVariable, fmt.Sprintf("what is idle or over its limit is looked for every %s", d))
	}
	return l.overlayDetails(env)
}

func (l *loaded) overlayDetails(env environment) error {
	value := env.get(detailsVariable)
	switch strings.ToLower(value) {
	case "":
	case "0", "false":
		l.variables.noDetails = true
		l.hold(env, detailsVariable, "includeSensitive is refused")
	case "1", "true":
		l.hold(env, detailsVariable, "policy decides on includeSensitive, as it does by default")
	default:
		return fmt.Errorf("%s: %q is unknown, want 0 or 1", detailsVariable, value)
	}
	return nil
}

// overrules says why a key does not heed its variable, "" when it does.
func (l *loaded) overrules(key string) string {
	if where, set := l.at[key]; set {
		return fmt.Sprintf("%s at %s holds", key, where)
	}
	if err := l.mayOverride(key); err != nil {
		return fmt.Sprintf("%s is locked by %s", key, l.org)
	}
	return ""
}

// hold notes a variable that holds, for the report and the digest.
func (l *loaded) hold(env environment, name, effect string) {
	l.variables.inForce = append(l.variables.inForce, heldVariable{name, env.get(name), effect})
	l.sums = append(l.sums, fmt.Sprintf("%s %q", name, env.get(name)))
}

var errNoWholeNumber = errors.New("no whole number of milliseconds")

// milliseconds reads a duration of at least a second; 0: the variable is not set.
func (e environment) milliseconds(name string, high time.Duration) (time.Duration, error) {
	value := e.get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	wrong := "out of bounds"
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		wrong = errNoWholeNumber.Error()
	}
	if err != nil || n < minDuration.Milliseconds() || n > high.Milliseconds() {
		return 0, fmt.Errorf("%s: %q is %s, want %d to %d (milliseconds, %s to %s)", name, value, wrong, minDuration.Milliseconds(), high.Milliseconds(), minDuration, high)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// readVariables are those of clients that are read here.
var readVariables = []string{sessionTTLVariable, runningMaxVariable, cleanupVariable, detailsVariable, allowDiskResume, resumeSecret}

// instead says what does here what a variable of other versions did.
var instead = map[string]string{
	"CLAUDE_CODE_MCP_MAX_SESSIONS":               "what bounds sessions here is [limits] max_concurrent and the limit on open files",
	"CLAUDE_CODE_MCP_MAX_PENDING_PERMISSIONS":    "set [limits] max_pending",
	"CLAUDE_CODE_MCP_EVENT_BUFFER_MAX_SIZE":      "events are kept on disk, see [store]",
	"CLAUDE_CODE_MCP_EVENT_BUFFER_HARD_MAX_SIZE": "events are kept on disk, see [store]",
	"CLAUDE_CODE_MCP_DEFAULT_CLAUDE_PATH":        "set [cli] executable",
	"CLAUDE_CODE_MCP_DEFAULT_CLAUDE_COMMAND":     "set [cli] executable",
}

// maxUnread bounds the variables that are told to have no effect.
const maxUnread = 10

// unreadVariables tells of variables for this server that nothing reads. Their
// values are not shown: they may be secrets.
func unreadVariables(env environment) (list []string) {
	for _, line := range env {
		name, _, _ := strings.Cut(line, "=")
		upper := strings.ToUpper(name)
		if !strings.HasPrefix(upper, "CLAUDE_CODE_MCP_") || isRead(name) || len(list) == maxUnread {
			continue
		}
		text := fmt.Sprintf("%s is set, but nothing here reads it; the nearest variable is %s", name, nearest(upper, readVariables))
		if remedy := instead[upper]; remedy != "" {
			text = fmt.Sprintf("%s is set, but nothing here reads it; %s", name, remedy)
		}
		list = append(list, text)
	}
	return list
}

func isRead(name string) bool {
	for _, known := range readVariables {
		if (environment{name + "=x"}).get(known) != "" { // spelled as the system compares names
			return true
		}
	}
	return false
}
