package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// sayIf is a rule with a body.
func sayIf(effect, id, body string) string {
	return `decisions contains {"effect": "` + effect + `", "rule": "` + id + `", "reason": "` + id + "\"} if {\n\t" + body + "\n}\n\n"
}

// annotated is a plugin that passed and annotated risk.
func annotated(name, risk string) permission.Annotation {
	return permission.Annotation{Plugin: name, Values: map[string]json.RawMessage{"risk": json.RawMessage(risk)}}
}

// heard is a request about which plugins said something.
func heard(t *testing.T, all ...permission.Annotation) permission.Request {
	r := request(t.TempDir(), "mcp__a__b", `{}`)
	r.Annotations = all
	return r
}

// pluginsIn is what a document shows of plugins.
func pluginsIn(t *testing.T, document json.RawMessage, err error) map[string]json.RawMessage {
	t.Helper()
	var doc struct{ Plugins map[string]json.RawMessage }
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(document, &doc); err != nil || doc.Plugins == nil {
		t.Fatalf("document %.300s: %v", document, err)
	}
	return doc.Plugins
}

// TestPluginsInDocuments: each field is there whatever the plugin said, and what
// cannot be read makes the entry one of a failure.
func TestPluginsInDocuments(t *testing.T) {
	values := func(raw string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"v": json.RawMessage(raw)}
	}
	deep := strings.Repeat("[", maxInputDepth+2) + strings.Repeat("]", maxInputDepth+2)
	for _, row := range []struct {
		name string
		said []permission.Annotation
		want string // a member of the entry, as it is written; sorted by name within
	}{
		{"nothing", []permission.Annotation{{Plugin: "p"}}, `{"annotations":{},"binding":false,"error":"","ms":0,"ok":true,"reason":"","sha256":"","verdict":"pass"}`},
		{"all", []permission.Annotation{{Plugin: "p", SHA256: "ab", Verdict: permission.Deny, Binding: true, Reason: "no", Values: values(`{"a":[1.50,null]}`), Took: 1234567 * time.Nanosecond}},
			`{"annotations":{"v":{"a":[1.50,null]}},"binding":true,"error":"","ms":1.235,"ok":true,"reason":"no","sha256":"ab","verdict":"deny"}`},
		{"allow", []permission.Annotation{{Plugin: "p", Verdict: permission.Allow}}, `"verdict":"allow"`},
		{"ask", []permission.Annotation{{Plugin: "p", Verdict: permission.Ask}}, `"verdict":"ask"`},
		{"failed", []permission.Annotation{{Plugin: "p", Verdict: permission.Deny, Binding: true, Error: "stopped after 200ms", Values: values(`1`)}},
			`{"annotations":{},"binding":true,"error":"stopped after 200ms","ms":0,"ok":false,"reason":"","sha256":"","verdict":"deny"}`},
		{"verdict no plugin has", []permission.Annotation{{Plugin: "p", Verdict: permission.Modify}}, `"error":"verdict modify: plugins pass, allow, ask or deny","ms":0,"ok":false,"reason":"","sha256":"","verdict":"deny"`},
		{"no JSON", []permission.Annotation{{Plugin: "p", Values: values(`{`), Verdict: permission.Ask, Binding: true}}, `"ok":false,"reason":"","sha256":"","verdict":"ask"`},
		{"two values", []permission.Annotation{{Plugin: "p", Values: values(`1 2`)}}, `"error":"annotation \"v\": the input is more than one JSON value","ms":0,"ok":false`},
		{"a key twice", []permission.Annotation{{Plugin: "p", Values: values(`{"a":1,"a":2}`)}}, `stands twice in one object","ms":0,"ok":false`},
		{"too deep", []permission.Annotation{{Plugin: "p", Values: values(deep)}}, `nested more than 512 deep","ms":0,"ok":false`},
		{"a number beyond comparison", []permission.Annotation{{Plugin: "p", Values: values(`1e999`)}}, `beyond what policies can compare","ms":0,"ok":false`},
		{"too much", []permission.Annotation{{Plugin: "p", Values: values(`"` + strings.Repeat("x", maxAnnotationBytes) + `"`)}}, `"error":"annotations: more than 65536 bytes","ms":0,"ok":false`},
		{"two of one name", []permission.Annotation{{Plugin: "p", Verdict: permission.Deny, Binding: true, Reason: "no", Values: values(`1`)}, {Plugin: "p", Verdict: permission.Allow, Values: values(`2`)}},
			`{"annotations":{},"binding":true,"error":"two plugins have this name","ms":0,"ok":false,"reason":"no","sha256":"","verdict":"deny"}`},
		{"a long reason", []permission.Annotation{{Plugin: "p", Reason: strings.Repeat("ä", maxPluginText)}}, `"reason":"` + strings.Repeat("ä", maxPluginText/2) + `"`},
		{"no text", []permission.Annotation{{Plugin: "p", Reason: "a\xffb"}}, `"reason":"ab"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{})
			r := heard(t, row.said...)
			document, err := s.Document(r)
			entry := string(pluginsIn(t, document, err)["p"])
			if !strings.Contains(entry, row.want) {
				t.Errorf("entry %.500s\nwant  %.500s", entry, row.want)
			}
			request := start("{}")
			request.Annotations = row.said
			admitted, err := s.AdmissionDocument(request)
			if got := string(pluginsIn(t, admitted, err)["p"]); got != entry {
				t.Errorf("of a request %.500s\nof a call %.500s", got, entry)
			}
			if _, err := s.Evaluate(context.Background(), EntryPermission, document); err != nil {
				t.Errorf("the document cannot be judged again: %v", err)
			}
		})
	}
}

func TestNoPluginsInDocuments(t *testing.T) {
	s := load(t, Options{})
	document, err := s.Document(heard(t))
	if len(pluginsIn(t, document, err)) != 0 {
		t.Errorf("document %s", document)
	}
	document, err = s.AdmissionDocument(start("{}"))
	if len(pluginsIn(t, document, err)) != 0 {
		t.Errorf("document %s", document)
	}
}

// TestPluginsLoosenNothing: what a profile refuses stays so whatever a plugin says;
// an allow that rests on a plugin is the choice of who wrote the rule.
func TestPluginsLoosenNothing(t *testing.T) {
	trusting := head + "import data.gatehouse.plugins\n\n" + sayIf("allow", "user.safe", `plugins.plugin_annotation("scan", "risk", "high") == "low"`)
	says := permission.Annotation{Plugin: "scan", Verdict: permission.Allow, Values: map[string]json.RawMessage{"risk": json.RawMessage(`"low"`)}}
	failed := says
	failed.Error = "stopped"
	for _, row := range []struct {
		name, text, tool, input string
		said                    []permission.Annotation
		rule                    string
	}{
		{"an allow of a plugin", "", "mcp__a__b", `{}`, []permission.Annotation{says}, "engine.default"},
		{"a rule that trusts it", trusting, "mcp__a__b", `{}`, []permission.Annotation{says}, "user.safe"},
		{"that rule without it", trusting, "mcp__a__b", `{}`, nil, "engine.default"},
		{"that rule and another plugin", trusting, "mcp__a__b", `{}`, []permission.Annotation{{Plugin: "other", Values: says.Values}}, "engine.default"},
		{"that rule and a failure", trusting, "mcp__a__b", `{}`, []permission.Annotation{failed}, "engine.default"},
		{"that rule and a danger", trusting, "Bash", `{"command":"rm -rf /"}`, []permission.Annotation{says}, "destruction.rm"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{}
			if row.text != "" {
				o.Paths = []string{userPolicy(t, row.text)}
			}
			r := request(t.TempDir(), row.tool, row.input)
			r.Annotations = row.said
			if d := decide(t, load(t, o), r); d.Rule != row.rule {
				t.Errorf("%s by %s (%s), want %s", d.Effect, d.Rule, d.Reason, row.rule)
			}
		})
	}
}

// TestPluginsAreAskedEveryTime: a decision whose rules look at plugins is made
// anew, others are remembered as before.
func TestPluginsAreAskedEveryTime(t *testing.T) {
	remembered := func(body string) string {
		return strings.Replace(sayIf("allow", "user.kept", body), `"reason"`, `"cache": {"ttl_s": 60}, "reason"`, 1)
	}
	for _, row := range []struct {
		name, text string
		again      string // rule, when the plugin no longer says so
	}{
		{"looks at plugins", head + remembered(`input.plugins.scan.annotations.risk == "low"`), "engine.default"},
		{"through a helper", head + "import data.gatehouse.plugins\n\n" + remembered(`plugins.plugin_annotation("scan", "risk", "high") == "low"`), "engine.default"},
		{"looks at the call alone", head + remembered(`input.tool.name == "mcp__a__b"`), "user.kept"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Paths: []string{userPolicy(t, row.text)}})
			r := heard(t, annotated("scan", `"low"`))
			first := decide(t, s, r)
			if second := decide(t, s, r); first.Rule != "user.kept" || second.Rule != "user.kept" {
				t.Errorf("%s, then %s", first.Rule, second.Rule)
			}
			r.Annotations = []permission.Annotation{annotated("scan", `"high"`)}
			if d := decide(t, s, r); d.Rule != row.again {
				t.Errorf("%s when the plugin says something else, want %s", d.Rule, row.again)
			}
		})
	}
}

// scanner is a plugin that calls an input safe while it holds the word "safe".
type scanner struct{ seen []string }

func (p *scanner) Annotate(_ context.Context, r permission.Request) []permission.Annotation {
	p.seen = append(p.seen, string(r.Input))
	risk := `"high"`
	if strings.Contains(string(r.Input), "safe") {
		risk = `"low"`
	}
	return []permission.Annotation{annotated("scan", risk)}
}

func (p *scanner) Revision() string { return "1" }

// TestChangedInputIsAnnotatedAnew: what plugins said of the input as it came counts
// for nothing once a rule has changed it.
func TestChangedInputIsAnnotatedAnew(t *testing.T) {
	trusts := "import data.gatehouse.plugins\n\n" + sayIf("allow", "user.safe", `plugins.plugin_annotation("scan", "risk", "high") == "low"`)
	change := func(effect, value string) string {
		return strings.Replace(sayIf(effect, "user.change", "true"), `"reason"`, `"ops": [{"op": "set", "path": "/text", "value": "`+value+`"}], "reason"`, 1)
	}
	asks := sayIf("ask", "user.ask", "true")
	forbids := sayIf("deny", "user.unsafe", `plugins.plugin_annotation("scan", "risk", "low") == "high"`)
	for _, row := range []struct {
		name, text, input string
		effect            permission.Effect
		rule              string
		seen              int
	}{
		{"no change", trusts, `{"text":"safe"}`, permission.Allow, "user.safe", 1},
		{"changed to what is not safe", trusts + change("modify", "worse"), `{"text":"safe"}`, permission.Ask, "engine.default", 2},
		{"changed to what is safe", trusts + change("modify", "safe now"), `{"text":"bad"}`, permission.Modify, "user.change", 2},
		{"asked, changed to what is forbidden", trusts + forbids + change("modify", "worse") + asks, `{"text":"safe"}`, permission.Deny, "user.unsafe", 2},
		{"asked, changed to what is safe", trusts + forbids + change("modify", "safe now") + asks, `{"text":"safe"}`, permission.Ask, "user.ask", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, p := load(t, Options{Paths: []string{userPolicy(t, head+row.text)}}), &scanner{}
			d := permission.Chain{Deciders: []permission.Decider{s}, Annotators: []permission.Annotator{p}, Default: permission.Ask}.
				Decide(context.Background(), request(t.TempDir(), "mcp__a__b", row.input))
			if d.Effect != row.effect || d.Rule != row.rule || len(p.seen) != row.seen {
				t.Errorf("%s by %s (%s) after the plugin saw %q, want %s by %s", d.Effect, d.Rule, d.Reason, p.seen, row.effect, row.rule)
			}
		})
	}
}

func TestPluginsAdmit(t *testing.T) {
	s := load(t, Options{Paths: []string{userPolicy(t, "package gatehouse.admission\n\nimport data.gatehouse.plugins\n\n"+
		sayIf("deny", "team.ticket", "input.action == \"start\"\n\tnot plugins.plugin_annotation(\"tickets\", \"open\", false)"))}})
	r := start(`{}`)
	for name, row := range map[string]struct {
		said []permission.Annotation
		want permission.Effect
	}{
		"not there": {nil, permission.Deny},
		"says no":   {[]permission.Annotation{{Plugin: "tickets", Values: map[string]json.RawMessage{"open": json.RawMessage(`false`)}}}, permission.Deny},
		"says yes":  {[]permission.Annotation{{Plugin: "tickets", Values: map[string]json.RawMessage{"open": json.RawMessage(`true`)}}}, permission.Allow},
	} {
		r.Annotations = row.said
		if d, err := s.Admit(context.Background(), r); err != nil || d.Effect != row.want {
			t.Errorf("%s: %s by %s (%s), %v", name, d.Effect, d.Rule, d.Reason, err)
		}
	}
	r.Action = admission.Cancel
	if d, err := s.Admit(context.Background(), r); err != nil || d.Effect != permission.Allow {
		t.Errorf("cancel: %s by %s (%s), %v", d.Effect, d.Rule, d.Reason, err)
	}
}

// TestPluginsAreLogged: what plugins said is written down with the decision, so
// that it can be judged again; in places of what is never written it is left out.
func TestPluginsAreLogged(t *testing.T) {
	said := []permission.Annotation{{
		Plugin: "a/b", SHA256: "ab", Verdict: permission.Ask, Reason: "saw hunter2", Values: map[string]json.RawMessage{"risk": json.RawMessage(`"hunter2"`)},
	}}
	const trusting = head + "decisions contains {\"effect\": \"allow\", \"rule\": \"user.safe\"} if input.plugins[\"a/b\"].annotations.risk == \"hunter2\"\n"
	call := loggedCall(t.TempDir(), "mcp__a__b", `{}`)
	call.Annotations = said
	form := loggedCall(t.TempDir(), formTool, `{"content":{"password":"hunter2"}}`)
	form.Annotations, form.Door = said, permission.DoorAnswer
	for _, row := range []struct {
		name   string
		judge  func(*Set) error
		entry  Entrypoint
		hidden bool
	}{
		{"a call", func(s *Set) error { _, err := s.Decide(context.Background(), call); return err }, EntryPermission, false},
		{"an answer to a form", func(s *Set) error { _, err := s.Decide(context.Background(), form); return err }, EntryPermission, true},
		{"a start", func(s *Set) error {
			r := start(`{"model":"opus"}`)
			r.Annotations = said
			_, err := s.Admit(context.Background(), r)
			return err
		}, EntryAdmission, false},
		{"a start with variables", func(s *Set) error {
			r := start(`{"env.CI":"hunter2"}`)
			r.Annotations = said
			_, err := s.Admit(context.Background(), r)
			return err
		}, EntryAdmission, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			set, r := logged(t, trusting)
			if err := row.judge(set); err != nil {
				t.Fatal(err)
			}
			e := r.last(t)
			text := writtenLine(t, e)
			if strings.Contains(text, "hunter2") == row.hidden || strings.Contains(text, `"verdict":"ask"`) == false {
				t.Errorf("written %s", text)
			}
			if least := documentBase + documentShare*len(said[0].Reason); e.Size < least {
				t.Errorf("size %d, want at least %d", e.Size, least)
			}
			var line decisionlog.Event
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			again, err := set.Evaluate(context.Background(), row.entry, line.Input)
			if err != nil {
				t.Fatalf("it cannot be judged again: %v", err)
			}
			if row.name == "a call" && again.Decision.Rule != "user.safe" {
				t.Errorf("judged again: %s by %s", again.Decision.Effect, again.Decision.Rule)
			}
		})
	}
}

func TestRunPluginNamesOne(t *testing.T) {
	rule := func(obligation string) string {
		return head + "owed := {\"name\": \"scan\"}\n\nname := \"scan\"\n\n" +
			`decisions contains {"effect": "allow", "rule": "x.y", "obligations": [` + obligation + `]} if input.tool.name == "mcp__a__b"` + "\n"
	}
	for obligation, want := range map[string]string{
		`{"kind": "run_plugin", "args": {"name": "scan"}}`:                      "",
		`{"kind": "run_plugin", "args": owed}`:                                  "",
		`{"kind": "run_plugin", "args": {"name": name}}`:                        "",
		`{"kind": "notify"}`:                                                    "",
		`{"kind": "run_plugin"}`:                                                pluginNeeded,
		`{"kind": "run_plugin", "args": {}}`:                                    pluginNeeded,
		`{"kind": "run_plugin", "args": {"plugin": "scan"}}`:                    pluginNeeded,
		`{"kind": "run_plugin", "args": {"name": ""}}`:                          pluginNeeded,
		`{"kind": "run_plugin", "args": {"name": 7}}`:                           pluginNeeded,
		`{"kind": "run_plugin", "args": {"name": ["scan"]}}`:                    pluginNeeded,
		`{"kind": "log_full"}, {"kind": "run_plugin", "args": {"nam": "scan"}}`: pluginNeeded,
		`{"kind": lower("RUN_PLUGIN"), "args": {"name": ""}}`:                   "engine.decode",
		`{"kind": "run_plugin", "args": {"name": lower("")}}`:                   "engine.decode",
		`{"kind": "run_plugin", "args": object.union(owed, {"name": 7})}`:       "engine.decode",
	} {
		s, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, rule(obligation))}, Deadline: generous, Home: "/nonexistent-home"})
		switch {
		case want == pluginNeeded:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v", obligation, err)
			}
		case err != nil:
			t.Errorf("%s: %v", obligation, err)
		default:
			d := decide(t, s, request(t.TempDir(), "mcp__a__b", `{}`))
			if failed := d.Rule == "engine.decode"; failed != (want != "") || failed && !strings.Contains(d.Reason, "run_plugin needs args.name") {
				t.Errorf("%s: %s by %s (%s)", obligation, d.Effect, d.Rule, d.Reason)
			}
		}
	}
}
