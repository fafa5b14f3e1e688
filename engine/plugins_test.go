package engine

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// fakePlugins annotate calls and requests, and put the digest of the input beside.
type fakePlugins struct {
	says func(tool string, input []byte) permission.Annotation // nil: passes
	of   func(admission.Request) []permission.Annotation       // nil: none

	mu       sync.Mutex
	revision string
	doors    []permission.Door
}

func (f *fakePlugins) Annotate(_ context.Context, r permission.Request) []permission.Annotation {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = append(f.doors, r.Door)
	a := permission.Annotation{Plugin: "lint", SHA256: strings.Repeat("ab", 32), Took: 1500 * time.Microsecond}
	if f.says != nil {
		said := f.says(r.Tool, r.Input)
		a.Verdict, a.Binding, a.Reason, a.Error = said.Verdict, said.Binding, said.Reason, said.Error
	}
	a.Values = map[string]json.RawMessage{"digest": json.RawMessage(`"` + digest(r.Input) + `"`)}
	return []permission.Annotation{a}
}

func (f *fakePlugins) Revision() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "p1" + f.revision
}

func (f *fakePlugins) AnnotateAdmission(_ context.Context, r admission.Request) []permission.Annotation {
	if f.of == nil {
		return nil
	}
	return f.of(r)
}

func (f *fakePlugins) use(o *Options) {
	o.Annotators, o.AdmissionAnnotators = []permission.Annotator{f}, []admission.Annotator{f}
}

// annotatedOnly decides by tool, and fails the test when plugins were not heard
// about the very input it is asked about.
type annotatedOnly struct {
	byTool
	t *testing.T

	mu    sync.Mutex
	doors []permission.Door
}

func (a *annotatedOnly) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	if len(r.Annotations) != 1 || string(r.Annotations[0].Values["digest"]) != `"`+digest(r.Input)+`"` {
		a.t.Errorf("door %s: a policy judges %s with the annotations %+v", r.Door, r.Input, r.Annotations)
	}
	a.mu.Lock()
	a.doors = append(a.doors, r.Door)
	a.mu.Unlock()
	return a.byTool.Decide(ctx, r)
}

func TestNoDoorReachesPoliciesPastPlugins(t *testing.T) {
	all := map[permission.Door]bool{}
	roads := append(doors(), door{name: "early ask", request: hookFor("Modify", `{"command":"x"}`)})
	for _, c := range roads {
		t.Run(c.name, func(t *testing.T) {
			policy, plugins := &annotatedOnly{t: t}, &fakePlugins{}
			p := aSession(t, &fakeLog{}, func(o *Options) {
				plugins.use(o)
				o.Deciders = []permission.Decider{policy}
			})
			p.answered(t, c.request, c.answer)
			if !slices.Equal(policy.doors, plugins.doors) {
				t.Errorf("policies judged %v, plugins heard %v", policy.doors, plugins.doors)
			}
			for _, d := range policy.doors {
				all[d] = true
			}
		})
	}
	for _, d := range []permission.Door{permission.DoorHook, permission.DoorAsk, permission.DoorAnswer, permission.DoorMention, permission.DoorForm} {
		if !all[d] {
			t.Errorf("no road came by door %s", d)
		}
	}
}

// Deciders are asked in one place each: by the chain, which has the annotators, and
// by askAdmission, which judgeAdmission calls with annotations.
func TestOnlyTheChainAsksPolicies(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{"Deciders": "New", "Admission": "askAdmission", "Annotators": "New", "Admit": "admitOne", "askAdmission": "judgeAdmission", "Decide": "weigh", "AdmissionAnnotators": "annotateAdmission"}
	found := map[string]int{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				use, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := use.X.(*ast.Ident); ok && (pkg.Name == "admission" || pkg.Name == "audit") {
					return true // a type or constant of that name
				}
				if in := allowed[use.Sel.Name]; in != "" {
					found[use.Sel.Name]++
					if fn.Name.Name != in {
						t.Errorf("%s: %s uses %s, which only %s may", f.Name(), fn.Name.Name, use.Sel.Name, in)
					}
				}
				return true
			})
		}
	}
	for name := range allowed {
		if found[name] != 1 {
			t.Errorf("%s is used %d times, want once", name, found[name])
		}
	}
}

// saying makes a plugin that says one thing of every call.
func saying(a permission.Annotation) *fakePlugins {
	return &fakePlugins{says: func(string, []byte) permission.Annotation { return a }}
}

func TestPluginsAreRecorded(t *testing.T) {
	secret := aToken()
	deny := permission.Annotation{Verdict: permission.Deny, Binding: true, Reason: "not \u202ehere " + secret}
	failed := permission.Annotation{Verdict: permission.Deny, Error: "trap near " + secret}
	ask := permission.Annotation{Verdict: permission.Ask, Binding: true, Reason: "looks odd"}
	for _, c := range []struct {
		name    string
		plugin  *fakePlugins
		request control.Request
		answer  *Answer
		want    string // of the audit record
		plugins audit.Plugin
		event   string // in the events
	}{
		{"deny", saying(deny), askFor("Allow", `{"a":1}`), nil, "deny plugin.lint plugin/lint can_use_tool",
			audit.Plugin{Verdict: "deny", Binding: true}, `"sha256":"abababababab","verdict":"deny","reason":"not \\u202ehere [REDACTED:`},
		{"early deny", saying(deny), hookFor("Allow", `{"a":1}`), nil, "deny plugin.lint plugin/lint pre_tool_use",
			audit.Plugin{Verdict: "deny", Binding: true}, `"rule":"plugin.lint"`},
		{"failure", saying(failed), askFor("Allow", `{"a":1}`), nil, "deny plugin.lint.error plugin/lint can_use_tool",
			audit.Plugin{Verdict: "deny", Binding: true, Error: "trap near [REDACTED:"}, `"error":"trap near [REDACTED:`},
		{"pass", saying(permission.Annotation{}), askFor("Allow", `{"a":1}`), nil, "allow test.allow policy/user can_use_tool",
			audit.Plugin{Verdict: "pass"}, `"plugins":[{"name":"lint","sha256":"abababababab","verdict":"pass","ms":1.5}]`},
		{"allow of a denied call", saying(permission.Annotation{Verdict: permission.Allow, Binding: true}), askFor("Deny", `{"a":1}`), nil,
			"deny test.deny policy/user can_use_tool", audit.Plugin{Verdict: "allow"}, `"verdict":"allow"`},
		{"ask", saying(ask), askFor("Allow", `{"a":1}`), yes, "allow plugin.lint approver/client can_use_tool",
			audit.Plugin{Verdict: "ask", Binding: true}, `"decisionReason":"looks odd (plugin \"lint\" asks about it`},
		{"ask where a policy asks", saying(ask), askFor("Ask", `{"a":1}`), no, "deny test.ask approver/client can_use_tool",
			audit.Plugin{Verdict: "ask", Binding: true}, `; looks odd (plugin \"lint\" asks about it`},
		{"mention", saying(deny), promptFor("see @a.txt"), nil, "deny plugin.lint plugin/lint mention", audit.Plugin{Verdict: "deny", Binding: true}, `"prompt_blocked"`},
		{"form", saying(deny), formFor("name?"), nil, "deny plugin.lint plugin/lint elicitation", audit.Plugin{Verdict: "deny", Binding: true}, `"action":"decline"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{}
			p := aSession(t, log, func(o *Options) {
				c.plugin.use(o)
				o.Redactors = []event.Redactor{realRedactor(t)}
			})
			answer := p.answered(t, c.request, c.answer)
			found := log.of(audit.Decision)
			if len(found) != 1 || saidOf(found[0]) != c.want || len(found[0].Plugins) != 1 {
				t.Fatalf("records = %+v, want %s; answer %s", found, c.want, answer)
			}
			got := found[0].Plugins[0]
			if got.Name != "lint" || got.SHA256 != strings.Repeat("ab", 32) || got.Micros != 1500 || got.Verdict != c.plugins.Verdict || got.Binding != c.plugins.Binding || !strings.HasPrefix(got.Error, c.plugins.Error) {
				t.Errorf("plugin = %+v, want %+v", got, c.plugins)
			}
			if all := dumpOf(p.session); !strings.Contains(all, c.event) {
				t.Errorf("events lack %s:\n%s", c.event, all)
			}
			for where, text := range map[string]string{"answer": answer, "events": dumpOf(p.session), "audit log": log.whole(t)} {
				if strings.Contains(text, secret) || strings.Contains(text, "\u202e") {
					t.Errorf("%s: %s", where, text)
				}
			}
		})
	}
}

// An approver's change, and what fills a form, is heard and recorded as what runs.
func TestPluginsOfWhatRuns(t *testing.T) {
	echo := &fakePlugins{says: func(_ string, input []byte) permission.Annotation {
		return permission.Annotation{Reason: string(input)}
	}}
	for _, c := range []struct {
		name    string
		request control.Request
		answer  *Answer
		want    string
	}{
		{"modified", askFor("Modify", `{"command":"x"}`), nil, `{"command":"changed"}`},
		{"by an approver", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, `{"command":"y"}`},
		{"form", formFor("name?"), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"ada"}}`)}, `"content":{"name":"ada"}`},
	} {
		log := &fakeLog{}
		var last judgedAnnotations
		p := aSession(t, log, func(o *Options) {
			echo.use(o)
			o.Annotators = []permission.Annotator{&last, echo}
		})
		p.answered(t, c.request, c.answer)
		found := log.of(audit.Decision)
		if len(found) != 1 || len(found[0].Plugins) != 2 || found[0].Plugins[0].Verdict != "pass" || !strings.Contains(last.input, c.want) {
			t.Errorf("%s: records %+v, heard last about %s", c.name, found, last.input)
		}
	}
}

// judgedAnnotations remembers the last input it was heard about.
type judgedAnnotations struct{ input string }

func (j *judgedAnnotations) Annotate(_ context.Context, r permission.Request) []permission.Annotation {
	j.input = string(r.Input)
	return []permission.Annotation{{Plugin: "last"}}
}
func (*judgedAnnotations) Revision() string { return "" }

func TestPluginAsksWhereNobodyAnswers(t *testing.T) {
	ask := saying(permission.Annotation{Verdict: permission.Ask, Binding: true, Reason: "looks odd"})
	log := &fakeLog{}
	p := aSession(t, log, func(o *Options) { ask.use(o); o.Unattended = true })
	answer := p.answered(t, askFor("Allow", `{"a":1}`), nil)
	if found := log.of(audit.Decision); lets(answer) || len(found) != 1 || saidOf(found[0]) != "deny plugin.lint plugin/lint can_use_tool" {
		t.Errorf("answer %s, records %+v", answer, found)
	}
}

// What was decided at the first door holds at the second only under the same plugins.
func TestReloadOfPluginsVoidsTheMemo(t *testing.T) {
	for _, reloaded := range []bool{false, true} {
		plugins := &fakePlugins{}
		p := aSession(t, nil, plugins.use)
		p.answered(t, hookFor("Allow", `{"a":1}`), nil)
		if reloaded {
			plugins.mu.Lock()
			plugins.revision = "later"
			plugins.mu.Unlock()
		}
		ask := askFor("Allow", `{"a":1}`)
		delete(ask.Fields, "agent_id")
		p.answered(t, ask, nil)
		if want := map[bool]int{false: 1, true: 2}[reloaded]; len(plugins.doors) != want {
			t.Errorf("reloaded %t: plugins were heard %v", reloaded, plugins.doors)
		}
	}
}

// An open question is judged anew when plugins were reloaded.
func TestReloadOfPluginsJudgesAnOpenQuestionAgain(t *testing.T) {
	plugins := &fakePlugins{}
	p := aSession(t, nil, plugins.use)
	id, answer := p.asking(t, askFor("Ask", `{"a":1}`))
	plugins.mu.Lock()
	plugins.revision = "later"
	plugins.says = func(string, []byte) permission.Annotation {
		return permission.Annotation{Verdict: permission.Deny, Binding: true, Reason: "not any more"}
	}
	plugins.mu.Unlock()
	err := p.session.Answer(context.Background(), Answer{RequestID: id, Allow: true})
	if CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), "plugin.lint: not any more") {
		t.Errorf("answer: %v", err)
	}
	if err := p.session.Answer(context.Background(), Answer{RequestID: id}); err != nil {
		t.Error(err)
	}
	<-answer
}

// The road to each deny tells of plugins, whatever denied.
func TestEngineFailuresTellOfPlugins(t *testing.T) {
	broken := decideFunc(func(permission.Request) (permission.Decision, error) { return permission.Decision{}, errors.New("no") })
	for name, deciders := range map[string][]permission.Decider{"engine.error": {broken}, "engine.no_policy": nil} {
		p := aSession(t, nil, func(o *Options) { (&fakePlugins{}).use(o); o.Deciders = deciders })
		p.answered(t, askFor("Allow", `{"a":1}`), nil)
		if all := dumpOf(p.session); !strings.Contains(all, `"rule":"`+name+`"`) || !strings.Contains(all, `"plugins":[{"name":"lint"`) {
			t.Errorf("%s: %s", name, all)
		}
	}
}

type decideFunc func(permission.Request) (permission.Decision, error)

func (f decideFunc) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	return f(r)
}
func (decideFunc) Revision() string { return "r" }
