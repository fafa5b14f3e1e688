package permission

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what the chain takes from plugins.
const (
	maxAnnotations = 64      // of one call
	maxPluginText  = 4 << 10 // bytes of a reason or an error; of a longer one only the length is told
)

// byPlugin is Decision.By of what a plugin decided; its rule names it.
const byPlugin = "plugin"

// PluginRule is the rule by which a plugin decides: "plugin.NAME", and
// "plugin.NAME.error" where it failed and its on_error decides.
func PluginRule(a Annotation) string {
	rule := "plugin." + a.Plugin
	if a.Error != "" {
		rule += ".error"
	}
	return rule
}

// Plugin is the name of the plugin that decided; empty: none did.
func (d Decision) Plugin() string {
	if d.By != byPlugin {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(d.Rule, "plugin."), ".")
	return name
}

// Word is the verdict as plugins and policies call it: pass, allow, ask or deny.
func (a Annotation) Word() string {
	if a.Verdict == Abstain {
		return "pass"
	}
	return a.Verdict.String()
}

// Heard is what a call or a request is judged with. A verdict that no plugin has
// is a failure that denies, and what a failure gave is binding; texts are bounded.
func Heard(all []Annotation) []Annotation {
	out := make([]Annotation, 0, min(len(all), maxAnnotations))
	for i, a := range all {
		if i == maxAnnotations {
			out = append(out, Annotation{
				Plugin: "more", Verdict: Deny, Binding: true, Error: fmt.Sprintf("%d plugins spoke, at most %d are heard", len(all), maxAnnotations),
			})
			break
		}
		switch a.Verdict {
		case Abstain, Allow, Ask, Deny:
		default:
			a.Error = cmp.Or(a.Error, fmt.Sprintf("verdict %d: plugins pass, allow, ask or deny", a.Verdict))
			a.Verdict = Deny
		}
		a.Binding = a.Binding || a.Error != "" && a.Verdict >= Ask
		a.Reason, a.Error = boundedText(a.Reason), boundedText(a.Error)
		out = append(out, a)
	}
	return out
}

// boundedText never cuts: of a secret cut in two, neither half would be recognised.
func boundedText(s string) string {
	if len(s) > maxPluginText {
		return fmt.Sprintf("[a text of %d bytes, at most %d are shown]", len(s), maxPluginText)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Binds says whether the verdict holds whatever policies say.
func (a Annotation) Binds() bool { return a.Binding && (a.Verdict == Ask || a.Verdict == Deny) }

// Decision is what a verdict that binds decides. The reason says what would change it.
func (a Annotation) Decision() Decision {
	rule := PluginRule(a)
	d := Decision{Effect: a.Verdict, Rule: rule, By: byPlugin, Rules: []string{a.Verdict.String() + ":" + rule}}
	word := map[bool]string{true: "asks about it", false: "refuses it"}[a.Verdict == Ask]
	switch {
	case a.Error != "":
		d.Reason = fmt.Sprintf("plugin %q gave no answer (%s), so its on_error decides: %s; a look at the plugin, or another on_error, would change it", a.Plugin, a.Error, word)
	case a.Reason != "":
		d.Reason = fmt.Sprintf("%s (plugin %q %s; with binding = \"none\" policies alone decide)", a.Reason, a.Plugin, word)
	default:
		d.Reason = fmt.Sprintf("plugin %q %s (with binding = \"none\" policies alone decide)", a.Plugin, word)
	}
	switch {
	case a.Verdict == Ask:
		d.Asking = []string{byPlugin + ":" + rule}
	case a.Error != "":
		d.AgentMessage = "The plugin " + a.Plugin + " gave no answer, so the call was refused (" + rule + "). The fault is not the call's: tell the user."
	case a.Reason != "":
		d.AgentMessage = "The plugin " + a.Plugin + " refused the call: " + a.Reason
	default:
		d.AgentMessage = "The plugin " + a.Plugin + " refused the call."
	}
	return d
}

// annotate hears all annotators, in order. One that panics is a deny, and so is the
// end of ctx: who gives up a call must not decide by that which plugins were heard
// to their end, as a plugin that is cut off may be one that is skipped.
func (c Chain) annotate(ctx context.Context, r Request) (all []Annotation, failed Decision) {
	for _, a := range c.Annotators {
		said, broken := annotateOne(ctx, a, r)
		all, failed = append(all, said...), stricter(failed, broken)
	}
	if len(c.Annotators) > 0 && ctx.Err() != nil {
		failed = stricter(failed, engineDeny("engine.cancelled", "the call was given up while plugins were heard", nil))
	}
	return Heard(all), failed
}

func annotateOne(ctx context.Context, a Annotator, r Request) (all []Annotation, failed Decision) {
	defer func() {
		if p := recover(); p != nil {
			all, failed = nil, engineDeny("engine.panic", "what hears the plugins panicked", []string{fmt.Sprint(p)})
		}
	}()
	return a.Annotate(ctx, r), failed
}

// revisionOf names the plugins of an annotator; empty: there are none.
func revisionOf(a Annotator) (revision string) {
	defer func() {
		if recover() != nil {
			revision = "unknown" // to annotate will be a deny
		}
	}()
	return a.Revision()
}

// bound composes a decision with the verdicts that bind; the strictest holds.
func (d Decision) bound(all []Annotation) Decision {
	out := d
	for _, a := range all {
		if a.Binds() {
			out = joined(out, a.Decision())
		}
	}
	return out.underPolicies(d)
}

// underPolicies keeps what tells which policies were asked.
func (d Decision) underPolicies(said Decision) Decision {
	d.Revision, d.Revisions, d.DecisionID = said.Revision, said.Revisions, said.DecisionID
	return d
}

// joined is stricter, and the reasons of both where both ask.
func joined(a, b Decision) Decision {
	out := stricter(a, b)
	told := b.Reason == "" || a.Reason == b.Reason || slices.Contains(strings.Split(a.Reason, "; "), b.Reason)
	if a.Effect == Ask && b.Effect == Ask && !told {
		out.Reason = strings.TrimPrefix(a.Reason+"; "+b.Reason, "; ")
	}
	return out
}

// spoken is what a decision keeps of what plugins said: not the annotations
// themselves, which may be large and are for policies.
func spoken(all []Annotation) []Annotation {
	if len(all) == 0 {
		return nil
	}
	out := make([]Annotation, len(all))
	for i, a := range all {
		a.Values = nil
		out[i] = a
	}
	return out
}
