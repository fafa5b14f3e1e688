package author

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
)

// DataFile is one document of policy.data.
type DataFile struct {
	Name string
	Text string
	Keys []string // top-level members
}

// Linting is what to look at.
type Linting struct {
	Sources []policy.Source
	Data    []DataFile
}

// LintInfo describes one lint.
type LintInfo struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // "error" or "warning"
	Finds    string `json:"finds"`    // what it finds, one line
}

// lint is one lint; run is nil for the one about comments, which comes last.
type lint struct {
	LintInfo
	run func(*linter, LintInfo)
}

// lints are all lints in the order of the reference. An error grants more than
// its author thinks, or fails when it is evaluated.
var lints = []lint{
	{LintInfo{"unknown-package", SeverityError, "a package that nothing asks"}, (*linter).unknownPackage},
	{LintInfo{"allow-any", SeverityError, "an allow that can fire for Bash and looks at no command"}, (*linter).allowAny},
	{LintInfo{"allow-some", SeverityError, "an allow that looks at some of the commands or paths instead of every one"}, (*linter).allowSome},
	{LintInfo{"allow-unanalysed", SeverityError, "an allow for Bash that does not require input.bash.ok"}, (*linter).allowUnanalysed},
	{LintInfo{"allow-text", SeverityError, "an allow that matches a part of a command's text"}, (*linter).allowText},
	{LintInfo{"object-get-input", SeverityError, "object.get on input: a misspelt field is its default"}, (*linter).objectGet},
	{LintInfo{"two-effects", SeverityError, "one rule id with two effects"}, (*linter).twoEffects},
	{LintInfo{"edit-apart", SeverityError, "an edit in a set that no plan takes"}, (*linter).editApart},
	{LintInfo{"no-reason", SeverityError, "a halt, deny, ask or modify without a reason"}, (*linter).noReason},
	{LintInfo{"no-agent-message", SeverityWarning, "a halt or deny that does not tell the model what to do instead"}, (*linter).noAgentMessage},
	{LintInfo{"computed-effect", SeverityWarning, "an effect that is not written out"}, (*linter).computedEffect},
	{LintInfo{"computed-rule", SeverityWarning, "a rule id that is not written out"}, (*linter).computedRule},
	{LintInfo{"plugin-absent", SeverityError, "an allow that negates what a plugin says: it holds where the plugin is not there"}, (*linter).pluginAbsent},
	{LintInfo{"nullable", SeverityWarning, "a negation or != on a field that can be null, unguarded"}, (*linter).nullable},
	{LintInfo{"path-prefix", SeverityWarning, "a string prefix test on a path"}, (*linter).pathPrefix},
	{LintInfo{"deny-text", SeverityWarning, "a refusal that looks at a command's text as it is written"}, (*linter).denyText},
	{LintInfo{"tool-unknown", SeverityWarning, "a tool's name that no tool has"}, (*linter).toolUnknown},
	{LintInfo{"block-unknown", SeverityWarning, "a type of blocks that no payload has"}, (*linter).blockUnknown},
	{LintInfo{"detector-unknown", SeverityWarning, "a detector's name that is almost that of a built-in one"}, (*linter).detectorUnknown},
	{LintInfo{"tool-case", SeverityWarning, "a tool's name compared without regard to case"}, (*linter).toolCase},
	{LintInfo{"walk", SeverityWarning, "walk over input or data"}, (*linter).walk},
	{LintInfo{"not-indexed", SeverityWarning, "a pattern match that no cheap condition stands before"}, (*linter).notIndexed},
	{LintInfo{"no-test", SeverityWarning, "a rule id that no test names"}, (*linter).noTest},
	{LintInfo{"unused-data", SeverityWarning, "a data key that no policy reads"}, (*linter).unusedData},
	{LintInfo{"ignore", SeverityWarning, "a gatehouse:ignore that names no lint, gives no reason or silences nothing"}, nil},
}

// Lints describes every lint, in the order of the reference.
func Lints() []LintInfo {
	all := make([]LintInfo, len(lints))
	for i, l := range lints {
		all[i] = l.LintInfo
	}
	return all
}

// linter is one run over all files.
type linter struct {
	*program
	data      []DataFile
	decisions []decision // of modules that decide, by file and line
	found     []Finding
}

// Lint looks for mistakes. Sources that do not even parse yield findings with the
// id "load" alone. Findings come by file, line and column.
func Lint(o Linting) []Finding {
	p, err := parseAll(o.Sources, features{builtins: declarations()})
	if err != nil {
		return loadFindings(err)
	}
	l := &linter{program: p, data: o.Data}
	for _, name := range sorted(p.parsed) {
		if m := p.parsed[name]; !isTest(m) {
			l.collect(m)
		}
	}
	for _, lint := range lints {
		if lint.run != nil {
			lint.run(l, lint.LintInfo)
		}
	}
	l.silence()
	slices.SortFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(l.found, func(a, b Finding) bool { return a == b })
}

func loadFindings(err error) []Finding {
	var load *LoadError
	if errors.As(err, &load) {
		return load.Findings
	}
	return []Finding{{ID: "load", Severity: SeverityError, Message: err.Error()}}
}

// declarations are those of the functions that tests may call.
func declarations() []*ast.Builtin {
	var all []*ast.Builtin
	for _, b := range builtins(nil) {
		all = append(all, b.Decl)
	}
	return all
}

// report adds a finding.
func (l *linter) report(id LintInfo, at *ast.Location, message, advice string) {
	l.found = append(l.found, l.finding(id.ID, id.Severity, at, message, advice))
}

// deciding calls f with every module that is no test.
func (l *linter) deciding(f func(*ast.Module)) {
	for _, name := range sorted(l.parsed) {
		if m := l.parsed[name]; !isTest(m) {
			f(m)
		}
	}
}
