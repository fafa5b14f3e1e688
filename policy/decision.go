package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Bounds of one decision document and of the set of them.
const (
	maxReason    = 500
	maxRuleName  = 64 // bytes
	maxDecisions = 1000
)

// The words a decision document may use.
var (
	decisionFields = []string{"effect", "rule", "reason", "agent_message", "severity", "ops", "context", "ask", "obligations", "labels", "cache"}
	decisionWords  = []string{"halt", "deny", "ask", "modify", "allow", "context"}
	severities     = []string{"critical", "high", "medium", "low", "info"} // strongest first
	ruleName       = regexp.MustCompile(`^[A-Za-z0-9][\w.-]+$`)            // its length is checked apart, as in toolName
)

// ruleForm says what a rule id looks like.
const ruleForm = "2 to 64 letters, digits, dots, dashes or low lines that begin with a letter or digit"

// ruleReserved says why a rule id is refused that reads as one of the server's own:
// records name by it who decided.
const ruleReserved = "ids that begin with engine. or plugin. are those of the server and of plugins; take another"

func reservedRule(id string) bool {
	return strings.HasPrefix(id, "engine.") || strings.HasPrefix(id, "plugin.")
}

// verdict is one rule's decision.
type verdict struct {
	permission.Decision
	word    string // the effect as written; "context" has no opinion
	ops     []op
	cache   *permission.Cache // nil: not to be remembered
	ignored string            // why it does not count; empty when it does
}

// decode reads a layer's decisions. Anything it does not know is an error:
// a misspelt field would otherwise turn a deny into silence.
func decode(layer string, value any) ([]verdict, error) { return appendDecoded(nil, layer, value) }

// appendDecoded does the same behind what others decided; nil with an error.
func appendDecoded(all []verdict, layer string, value any) ([]verdict, error) {
	list, ok := value.([]any)
	if !ok || len(list) > maxDecisions {
		return nil, fmt.Errorf("decisions of the %s policies: want a set of at most %d objects", layer, maxDecisions)
	}
	all = slices.Grow(all, len(list))
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
	r := reader{object: object}
	r.known(decisionFields)
	v := verdict{word: r.text("effect")}
	v.Rule, v.Reason = r.text("rule"), r.text("reason")
	v.AgentMessage, v.Severity = r.text("agent_message"), r.text("severity")
	v.Context, v.Labels = r.texts("context"), r.labels("labels")
	v.Ask, v.ops, v.By = r.terms("ask"), r.ops("ops"), "policy"
	v.Obligations, v.cache = r.obligations("obligations"), r.cache("cache")
	if r.err == nil {
		r.err = v.check(object)
	}
	if r.err != nil {
		return verdict{}, fmt.Errorf("rule %.80q: %w", fmt.Sprint(object["rule"]), r.err)
	}
	return v, nil
}

// check completes a decoded decision and refuses what makes no sense together.
func (v *verdict) check(object map[string]any) error {
	if !slices.Contains(decisionWords, v.word) {
		return fmt.Errorf("effect %q: unknown, want one of %s", v.word, strings.Join(decisionWords, ", "))
	}
	if v.word != "context" {
		v.Effect, _ = permission.ParseEffect(v.word) // the word was checked above
	}
	if _, given := object["severity"]; !given {
		v.Severity = "medium"
	}
	_, asks := object["ask"]
	quiet := v.word == "allow" || v.word == "context"
	switch {
	case len(v.Rule) > maxRuleName || !ruleName.MatchString(v.Rule):
		return fmt.Errorf("rule must be %s", ruleForm)
	case reservedRule(v.Rule):
		return fmt.Errorf("rule %.80q: %s", v.Rule, ruleReserved)
	case v.Reason == "" && !quiet:
		return fmt.Errorf("effect %s needs a reason", v.word)
	case len(v.Reason) > maxReason:
		return fmt.Errorf("reason is longer than %d bytes", maxReason)
	case !slices.Contains(severities, v.Severity):
		return fmt.Errorf("severity %q: want one of %s", v.Severity, strings.Join(severities, ", "))
	case (v.word == "modify") != (len(v.ops) > 0):
		return fmt.Errorf("ops belong to effect modify, and modify needs some")
	case v.word != "ask" && asks:
		return fmt.Errorf("ask belongs to effect ask")
	case v.word == "context" && len(v.Context) == 0:
		return fmt.Errorf("effect context needs a context")
	}
	return nil
}
