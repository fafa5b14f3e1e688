package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// Bounds of what one plugin said.
const (
	maxAnnotationBytes = 64 << 10 // keys and values together
	maxPluginText      = 4 << 10  // a reason or an error; what is longer is cut
)

// pluginOutput is what one plugin said of a call or a request.
type pluginOutput struct {
	OK          bool           `json:"ok" doc:"it was heard and did not fail; a plugin that is not there has no entry at all"`
	Verdict     string         `json:"verdict" doc:"pass is no opinion; after a failure what its on_error says" enum:"pass,allow,ask,deny"`
	Binding     bool           `json:"binding" doc:"an ask or a deny of it holds whatever policies say"`
	Reason      string         `json:"reason" doc:"of the verdict; the plugin wrote it"`
	Annotations map[string]any `json:"annotations" doc:"by key, as the plugin gave them; empty after a failure"`
	Error       string         `json:"error" doc:"why it failed; empty when it did not"`
	MS          float64        `json:"ms" doc:"milliseconds it took"`
	SHA256      string         `json:"sha256" doc:"of its file, hexadecimal"`
}

// describePlugins is what plugins said, by name. One whose annotations cannot be
// read failed, and so did two that share a name: its entry says so and shows none.
func describePlugins(all []permission.Annotation) map[string]pluginOutput {
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]pluginOutput, len(all))
	for _, a := range all {
		p := describePlugin(a)
		if other, twice := out[a.Plugin]; twice {
			p = p.joined(other)
		}
		out[a.Plugin] = p
	}
	return out
}

func describePlugin(a permission.Annotation) pluginOutput {
	p := pluginOutput{
		Verdict: verdictWord(a.Verdict), Binding: a.Binding, Reason: pluginText(a.Reason), Error: pluginText(a.Error),
		MS: math.Round(float64(a.Took)/float64(time.Microsecond)) / 1000, SHA256: a.SHA256,
	}
	if p.Verdict == "" {
		p.Verdict, p.Error = "deny", cmp.Or(p.Error, fmt.Sprintf("verdict %s: plugins pass, allow, ask or deny", a.Verdict))
	}
	if p.Error == "" {
		values, err := annotations(a.Values)
		if err != nil {
			p.Error = pluginText(err.Error())
		}
		p.Annotations = values
	}
	p.OK = p.Error == ""
	return p
}

// annotations decodes what a plugin annotated within the limits of a tool's input.
func annotations(raw map[string]json.RawMessage) (map[string]any, error) {
	values, size := make(map[string]any, len(raw)), 0
	for _, key := range sortedKeys(raw) {
		if size += len(key) + len(raw[key]); size > maxAnnotationBytes {
			return nil, fmt.Errorf("annotations: more than %d bytes", maxAnnotationBytes)
		}
		value, err := decodeValue(raw[key])
		if err != nil {
			return nil, fmt.Errorf("annotation %.80q: %w", key, err)
		}
		values[key] = value
	}
	return values, nil
}

// joined is the entry of two plugins that share a name: nobody can tell them
// apart, so neither is believed.
func (p pluginOutput) joined(other pluginOutput) pluginOutput {
	if pluginVerdicts[other.Verdict] > pluginVerdicts[p.Verdict] {
		p.Verdict, p.Reason = other.Verdict, other.Reason
	}
	p.OK, p.Annotations, p.Error = false, nil, "two plugins have this name"
	p.Binding = p.Binding || other.Binding
	p.MS += other.MS
	return p
}

// pluginVerdicts are the words for what a plugin says.
var pluginVerdicts = map[string]permission.Effect{
	"pass": permission.Abstain, "allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny,
}

// verdictWord is the word for an effect; empty for one that no plugin has.
func verdictWord(e permission.Effect) string {
	for word, effect := range pluginVerdicts {
		if effect == e {
			return word
		}
	}
	return ""
}

func pluginText(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxPluginText)], "")
}

// hiddenAnnotations covers what plugins said in their own words where something of
// what they saw is not written down: they may have repeated it.
func hiddenAnnotations(all []permission.Annotation) (ops []decisionlog.MaskOp) {
	for _, a := range all {
		at := "/input/plugins/" + pointerStep(a.Plugin)
		if len(a.Values) > 0 {
			ops = append(ops, decisionlog.MaskOp{Op: "upsert", Path: at + "/annotations", Value: map[string]any{}})
		}
		for _, part := range []struct{ name, text string }{{"/reason", a.Reason}, {"/error", a.Error}} {
			if part.text != "" {
				ops = append(ops, decisionlog.MaskOp{Op: "upsert", Path: at + part.name, Value: withheld})
			}
		}
	}
	return ops
}

// annotationBytes is how much plugins add to a document, roughly.
func annotationBytes(all []permission.Annotation) (n int) {
	for _, a := range all {
		n += len(a.Reason) + len(a.Error)
		for key, raw := range a.Values {
			n += len(key) + len(raw)
		}
	}
	return n
}
