package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// redactionConfig is [redaction]: what is covered beside the vendor formats, and
// what happens where nothing can be covered any more.
type redactionConfig struct {
	Context     bool             `toml:"context"`
	Filter      bool             `toml:"filter"`
	OnExposed   string           `toml:"on_exposed"`
	Environment []string         `toml:"environment"`
	Detectors   []detectorConfig `toml:"detector"`
}

// detectorConfig is one [[redaction.detector]].
type detectorConfig struct {
	Name     string   `toml:"name"`
	Pattern  string   `toml:"pattern"`
	Keywords []string `toml:"keywords"`
}

// The values of redaction.on_exposed.
const (
	exposedReport = "report"
	exposedStop   = "stop"
)

const detectorKey = "redaction.detector"

// placeDetectors notes where the detectors of the file just read stand.
func (l *loaded) placeDetectors(at places) {
	last := at[detectorKey]
	for i := range l.Redaction.Detectors {
		if where := at[element(detectorKey, i)]; where != "" {
			last = where
		}
		l.detectorsAt = append(l.detectorsAt, last)
	}
}

// keepRedaction returns what the file read so far asks to cover and takes the
// lists out, so that the next file is decoded beside them, not over them.
func (l *loaded) keepRedaction() redactionConfig {
	kept := l.Redaction
	l.Redaction.Environment, l.Redaction.Detectors = nil, nil
	return kept
}

// addRedaction puts what the organisation covers to what the user covers: nothing
// takes a cover away.
func (l *loaded) addRedaction(org redactionConfig) {
	r := &l.Redaction
	r.Context = r.Context || org.Context
	r.Environment = union(org.Environment, r.Environment)
	r.Detectors = slices.Concat(org.Detectors, r.Detectors)
}

// redactionSettings is [redaction] after it was checked.
type redactionSettings struct {
	options   redact.Options
	scanner   redact.Scanner // of the options
	filter    bool
	onExposed string   // what follows when a secret reached the model uncovered: "report" or "stop"
	warnings  []string // variables whose values cannot be covered
}

// redaction checks [redaction]. The values of servers are covered, too.
func (c *checker) redaction(ofServers map[string]string) redactionSettings {
	r := c.l.Redaction
	s := redactionSettings{filter: r.Filter, options: redact.Options{Context: r.Context}}
	s.onExposed = c.oneOf("redaction.on_exposed", r.OnExposed, []string{exposedReport, exposedStop})
	seen := map[string]string{}
	for i, d := range r.Detectors {
		at := c.l.detectorsAt[i]
		custom := redact.Custom{Name: d.Name, Pattern: d.Pattern, Keywords: d.Keywords}
		for _, field := range []struct{ name, value string }{{"name", d.Name}, {"pattern", d.Pattern}} {
			if field.value == "" {
				c.failAt(at, detectorKey, "%s is missing; want name = \"…\" and pattern = '…'", field.name)
			}
		}
		if _, err := redact.New(redact.Options{Custom: []redact.Custom{custom}}); err != nil {
			c.failAt(at, detectorKey, "%v", err)
		}
		if other, taken := seen[d.Name]; taken {
			c.failAt(at, detectorKey, "%q is the name of the detector at %s, too; give it another one", d.Name, other)
		}
		seen[d.Name] = at
		s.options.Custom = append(s.options.Custom, custom)
	}
	s.options.Values, s.warnings = c.variables(r.Environment, seen)
	for _, told := range slices.Sorted(maps.Keys(ofServers)) {
		cover(s.options.Values, told, ofServers[told])
	}
	var err error
	if s.scanner, err = redact.New(s.options); err != nil {
		c.fail(detectorKey, "%v", err)
	}
	return s
}

// minCovered is how many bytes a variable needs for its value to be covered: a
// shorter one stands in many texts by accident.
const minCovered = 8

var variableForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// variables are the values of the variables of redaction.environment by the
// names they are told as, and what to say about those that have none.
func (c *checker) variables(names []string, taken map[string]string) (values map[string]string, warnings []string) {
	values = map[string]string{}
	for _, name := range names {
		told := variableKind(name)
		if _, other := taken[told]; other || values[told] != "" {
			c.fail("redaction.environment", "%q is told as %q, which is the name of another detector", name, told)
		}
		if !variableForm.MatchString(name) {
			c.fail("redaction.environment", "%q is no name of a variable: up to 60 letters, digits and _, a letter first", name)
			continue
		}
		switch value := c.env.get(name); {
		case value == "":
			warnings = append(warnings, "redaction.environment: "+name+" is not set for this server, so no value of it is covered")
		case len(value) < minCovered:
			warnings = append(warnings, "redaction.environment: "+name+" has fewer than 8 bytes, too few to cover; its value passes")
		default:
			values[told] = value
		}
	}
	return values, warnings
}

// variableKind is how the value of a variable is told: env-github-token.
func variableKind(name string) string {
	return "env-" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// noticeRedaction is the type of the notice that carries filterWarning.
const noticeRedaction = "redaction"

// filterWarning is told where failing commands are not covered.
const filterWarning = "redaction.filter is false: what a failing command prints reaches the model uncovered"

// redactionWarnings are what check and the log of the server tell.
func (s *settings) redactionWarnings() []string {
	all := slices.Clone(s.redaction.warnings)
	if !s.redaction.filter {
		all = append(all, filterWarning)
	}
	return all
}
