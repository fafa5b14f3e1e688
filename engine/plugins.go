package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// What plugins said of a call, as it is told. Their texts are somebody else's: they
// are made visible here, and covered on the way into an event or a record.

// pluginWord is what one plugin said, in an event.
type pluginWord struct {
	Name    string  `json:"name"`
	SHA256  string  `json:"sha256,omitempty"` // the first 12 digits
	Verdict string  `json:"verdict"`          // pass, allow, ask or deny
	Reason  string  `json:"reason,omitempty"`
	Error   string  `json:"error,omitempty"`
	MS      float64 `json:"ms"`
}

// shownDigits of a file's digest are enough to tell versions apart.
const shownDigits = 12

func pluginWords(all []permission.Annotation) []pluginWord {
	var words []pluginWord
	for _, a := range all {
		words = append(words, pluginWord{
			Name: clip(a.Plugin), SHA256: a.SHA256[:min(len(a.SHA256), shownDigits)], Verdict: a.Word(),
			Reason: visible(a.Reason), Error: visible(a.Error), MS: math.Round(float64(a.Took)/float64(time.Microsecond)) / 1000,
		})
	}
	return words
}

// heard replaces what plugins said by what they said of the input that runs.
func (r *permissionRecord) heard(all []permission.Annotation) {
	r.Plugins, r.about.decision.Plugins = pluginWords(all), all
}

// wordless is what plugins said but for their own words, which may repeat what they
// saw.
func wordless(all []permission.Annotation) []permission.Annotation {
	all = slices.Clone(all)
	for i := range all {
		for _, text := range []*string{&all[i].Reason, &all[i].Error} {
			if *text != "" {
				*text = withheldError
			}
		}
	}
	return all
}

// withoutPluginWords is a decision without them.
func withoutPluginWords(d permission.Decision) permission.Decision {
	d.Plugins = wordless(d.Plugins)
	if name := d.Plugin(); name != "" {
		d.Reason = fmt.Sprintf("refused by plugin %q, whose own words are not shown as it saw what is never shown", name)
	}
	return d
}

// pluginErrors are the errors of a record, in the order of plugins that failed.
func pluginErrors(all []permission.Annotation) (errs []string) {
	for _, a := range all {
		if a.Error != "" {
			errs = append(errs, a.Error)
		}
	}
	return errs
}

// withheldError stands for words of a plugin that are not shown.
const withheldError = "[withheld]"

// auditedPlugins is what the audit log tells of plugins; errs are pluginErrors as
// they may be shown.
func auditedPlugins(all []permission.Annotation, errs []string) []audit.Plugin {
	var out []audit.Plugin
	for _, a := range all {
		p := audit.Plugin{Name: clip(a.Plugin), SHA256: a.SHA256, Verdict: a.Word(), Binding: a.Binds(), Micros: a.Took.Microseconds()}
		if a.Error != "" {
			p.Error = withheldError
			if len(errs) > 0 {
				p.Error, errs = errs[0], errs[1:]
			}
		}
		out = append(out, p)
	}
	return out
}

// refusalText is what the model reads of a deny.
func (s *Session) refusalText(d permission.Decision) string {
	return s.heardText(event.SinkModel, d, d.Message())
}

// reasonText is why, for a caller.
func (s *Session) reasonText(d permission.Decision) string {
	return s.heardText(event.SinkEvent, d, d.Reason)
}

// heardText is a text of a decision. Where plugins were heard it is covered, and
// nothing in it is unseen: they may repeat what they saw of the session, and
// policies pass their words on. The lines of a policy's text stay lines.
func (s *Session) heardText(sink event.Sink, d permission.Decision, text string) string {
	if len(d.Plugins) == 0 || text == "" {
		return text
	}
	for _, a := range d.Plugins {
		for _, theirs := range []string{a.Reason, a.Error} {
			if theirs != "" {
				text = strings.ReplaceAll(text, theirs, visible(theirs))
			}
		}
	}
	return s.redactText(sink, visibleBut(text, "\n\t"))
}

// unmetPlugin says why no plugin of that name will see the output of a call.
func (s *Session) unmetPlugin(r permission.Request, o permission.Obligation) string {
	name, _ := o.Args["name"].(string)
	switch why := unmetOutput(r, o); {
	case name == "":
		return "its name has to be that of a plugin"
	case why != "":
		return why
	case inBackground(r.Input):
		return "the call runs in the background (run_in_background), so its output comes by other calls, which owe nothing"
	case !s.seesOutput(name):
		return fmt.Sprintf("there is no plugin %q that sees the output of tools now; a [[plugin]] of that name with the hook post_tool would, if it is healthy", clip(name))
	}
	return ""
}

// inBackground reports an input that asks for it, in whatever words.
func inBackground(input json.RawMessage) bool {
	asked := string(field(input, "run_in_background"))
	return asked != "" && asked != "false" && asked != "null"
}

// seesOutput asks the owner's plugins; what panics sees nothing.
func (s *Session) seesOutput(name string) (sees bool) {
	defer func() {
		if p := recover(); p != nil {
			sees = false
			s.engine.log.Error("look for a plugin", "plugin", name, "panic", fmt.Sprint(p))
		}
	}()
	return s.engine.o.OutputPlugin != nil && s.engine.o.OutputPlugin(name)
}

// seeOutput says whether all plugins do that have to.
func (s *Session) seeOutput(names []string) bool {
	for _, name := range names {
		if !s.seesOutput(name) {
			return false
		}
	}
	return true
}
