package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// Bounds of one decision document and of the set of them.
const (
	maxReason    = 500
	maxRuleName  = 64 // bytes
	maxDecisions = 1000
)

// The words a decision document may use.
var (
	decisionFields = []string{"effect", "rule", "reason", "agent_message", "severity", "ops", "context", "ask", "labels"}
	decisionWords  = []string{"halt", "deny", "ask", "modify", "allow", "context"}
	severities     = []string{"critical", "high", "medium", "low", "info"} // strongest first
	ruleName       = regexp.MustCompile(`^[A-Za-z0-9][\w.-]+$`)
)

// verdict is one rule's decision.
type verdict struct {
	permission.Decision
	word string // the effect as written; "context" has no opinion
	ops  []op
}

// decode reads a layer's decisions. Anything it does not know is an error:
// a misspelt field would otherwise turn a deny into silence.
func decode(layer string, value any) ([]verdict, error) {
	list, ok := value.([]any)
	if !ok || len(list) > maxDecisions {
		return nil, fmt.Errorf("decisions of the %s policies: want a set of at most %d objects", layer, maxDecisions)
	}
	all := make([]verdict, 0, len(list))
	for _, item := range list {
		v, err := decodeOne(item)
		if err != nil {
			return nil, fmt.Errorf("decision of the %s policies: %w", layer, err)
		}
		v.Layer = layer
		all = append(all, v)
	}
	return all, nil
}

func decodeOne(item any) (verdict, error) {
	object, ok := item.(map[string]any)
	if !ok {
		return verdict{}, fmt.Errorf("%.80q is no object", fmt.Sprint(item))
	}
	for name := range object {
		if !slices.Contains(decisionFields, name) {
			return verdict{}, fmt.Errorf("rule %q: unknown field %q, want one of %s", fmt.Sprint(object["rule"]), name, strings.Join(decisionFields, ", "))
		}
	}
	r := reader{object: object}
	v := verdict{word: r.text("effect")}
	v.Rule, v.Reason = r.text("rule"), r.text("reason")
	v.AgentMessage, v.Severity = r.text("agent_message"), r.text("severity")
	v.Context, v.Labels = r.texts("context"), r.labels("labels")
	v.Ask, v.ops, v.By = r.terms("ask"), r.ops("ops"), "policy"
	if r.err == nil {
		r.err = v.check()
	}
	if r.err != nil {
		return verdict{}, fmt.Errorf("rule %q: %w", fmt.Sprint(object["rule"]), r.err)
	}
	return v, nil
}

// check completes a decoded decision and refuses what makes no sense together.
func (v *verdict) check() error {
	if !slices.Contains(decisionWords, v.word) {
		return fmt.Errorf("effect %q: unknown, want one of %s", v.word, strings.Join(decisionWords, ", "))
	}
	if v.word != "context" {
		v.Effect, _ = permission.ParseEffect(v.word) // the word was checked above
	}
	if v.Severity == "" {
		v.Severity = "medium"
	}
	quiet := v.word == "allow" || v.word == "context"
	switch {
	case len(v.Rule) > maxRuleName || !ruleName.MatchString(v.Rule):
		return fmt.Errorf("rule must be 2 to 64 letters, digits, dots, dashes")
	case v.Reason == "" && !quiet:
		return fmt.Errorf("effect %s needs a reason", v.word)
	case len(v.Reason) > maxReason:
		return fmt.Errorf("reason is longer than %d bytes", maxReason)
	case !slices.Contains(severities, v.Severity):
		return fmt.Errorf("severity %q: want one of %s", v.Severity, strings.Join(severities, ", "))
	case (v.word == "modify") != (len(v.ops) > 0):
		return fmt.Errorf("ops belong to effect modify, and modify needs some")
	case v.word != "ask" && !v.Ask.IsZero():
		return fmt.Errorf("ask belongs to effect ask")
	case v.word == "context" && len(v.Context) == 0:
		return fmt.Errorf("effect context needs a context")
	}
	return nil
}

// reader takes typed fields out of an object and keeps the first error.
type reader struct {
	object map[string]any
	err    error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) text(name string) string {
	value, present := r.object[name]
	s, ok := value.(string)
	if present && !ok {
		r.fail("%s must be a string", name)
	}
	return s
}

func (r *reader) texts(name string) []string {
	value, present := r.object[name]
	list, ok := value.([]any)
	if present && !ok {
		r.fail("%s must be a list of strings", name)
	}
	var all []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			r.fail("%s must be a list of strings", name)
		}
		all = append(all, s)
	}
	return all
}

func (r *reader) labels(name string) map[string]string {
	value, present := r.object[name]
	object, ok := value.(map[string]any)
	if present && !ok {
		r.fail("%s must map strings to strings", name)
	}
	if len(object) == 0 {
		return nil
	}
	all := map[string]string{}
	for k, v := range object {
		s, ok := v.(string)
		if !ok {
			r.fail("%s must map strings to strings", name)
		}
		all[k] = s
	}
	return all
}

// maxAskSeconds bounds the time a policy may give a question: a day.
const maxAskSeconds = 86400

func (r *reader) terms(name string) permission.AskTerms {
	value, present := r.object[name]
	object, ok := value.(map[string]any)
	if present && !ok {
		r.fail("%s must be an object", name)
	}
	var t permission.AskTerms
	for k, v := range object {
		switch k {
		case "timeout_s":
			n, isNumber := v.(json.Number)
			seconds, err := n.Int64()
			if !isNumber || err != nil || seconds < 1 || seconds > maxAskSeconds {
				r.fail("ask.timeout_s must be a whole number from 1 to %d", maxAskSeconds)
			}
			t.TimeoutSeconds = int(seconds)
		case "approver":
			if t.Approver, _ = v.(string); t.Approver != "human" {
				r.fail("ask.approver must be \"human\"")
			}
		default:
			r.fail("ask: unknown field %q, want timeout_s or approver", k)
		}
	}
	return t
}

// checkLiteral finds misspelt keys and effects in a decision that is written
// out in the rule's head, so that they are errors at load.
func checkLiteral(key *ast.Term) error {
	if key == nil {
		return nil
	}
	object, ok := key.Value.(ast.Object)
	if !ok {
		return nil
	}
	var err error
	object.Foreach(func(k, v *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok || err != nil {
			return
		}
		if !slices.Contains(decisionFields, string(name)) {
			err = fmt.Errorf("decision field %q: unknown, want one of %s", string(name), strings.Join(decisionFields, ", "))
		}
		word, ok := v.Value.(ast.String)
		if ok && name == "effect" && !slices.Contains(decisionWords, string(word)) {
			err = fmt.Errorf("effect %q: unknown, want one of %s", string(word), strings.Join(decisionWords, ", "))
		}
	})
	for _, must := range []string{"effect", "rule"} {
		if err == nil && object.Get(ast.StringTerm(must)) == nil {
			err = fmt.Errorf("decision without field %q", must)
		}
	}
	return err
}
