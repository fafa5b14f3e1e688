package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// realRedactor covers what the shipped one does, and a value of the owner.
func realRedactor(t testing.TB, values ...string) event.Redactor {
	t.Helper()
	set, err := policy.Load(t.Context(), policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := policy.RedactorOptions{}
	if len(values) > 0 {
		o.Options = redact.Options{Values: map[string]string{"own": values[0]}}
	}
	return policy.NewRedactor(policy.NewLive(set), o)
}

// aToken is a secret that every redactor knows.
func aToken() string { return "gh" + "p_" + strings.Repeat("aB3dE6gH9", 4) }

// holdsPart reports whether a text holds a piece of a secret.
func holdsPart(text, secret string) bool {
	const piece = 10
	for i := 0; i+piece <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+piece]) {
			return true
		}
	}
	return false
}

func TestExcerptNeverShowsPartOfASecret(t *testing.T) {
	long := strings.Repeat("Zq8x", 15<<10) // 60 KiB
	p := aSession(t, nil, func(o *Options) { o.Redactors = []event.Redactor{realRedactor(t, long)} })
	filler := strings.Repeat("lorem ipsum dolor ", 10<<10)
	check := func(secret string, at, tail int) {
		t.Helper()
		text, err := json.Marshal(map[string]string{"command": filler[:at] + secret + " " + filler[:tail]})
		if err != nil {
			t.Fatal(err)
		}
		_, excerpt := p.session.auditTexts(recordTexts{Tool: "Bash", Input: text})
		if holdsPart(excerpt, secret) {
			t.Errorf("secret at %d of %d bytes: %.200s … %s", at, len(text), excerpt, excerpt[max(0, len(excerpt)-100):])
		}
		if len(excerpt) > 2<<10 || len(secret) < 100 && !strings.HasPrefix(excerpt, `{"command":"lorem ipsum`) {
			t.Errorf("excerpt of %d bytes: %.80s", len(excerpt), excerpt)
		}
	}
	token := aToken()
	for _, end := range []int{excerptShown, excerptWindow, excerptWindow - excerptMargin} {
		for back := -2; back < len(token)+20; back++ {
			check(token, end-back, 0)
			check(token, end-back, 100<<10)
		}
	}
	for _, at := range []int{0, 100, 1500, excerptShown - 20, excerptShown + 20, excerptWindow - excerptMargin, excerptWindow - 20} {
		check(long, at, 0)
		check(long, at, 100<<10)
	}
}

func TestClosedPrefix(t *testing.T) {
	for _, raw := range []string{
		`{"a":"tab\t \u00e9\ud83d\ude00 ü€😀 \\","b":[1,-2.5e3,true,null,{"c":{}},[]],"d":{"e\"f":"g","h":[[["i"]]]}}`,
		`["x",{"y":1}]`, `"text"`, `12`, ` { "a" : [ 1 , 2 ] , "b" : "c" } `,
	} {
		longest := 0
		for n := range len(raw) + 1 {
			got := closedPrefix(json.RawMessage(raw), n)
			if !json.Valid(got) {
				t.Fatalf("%s cut at %d is no JSON: %s", raw, n, got)
			}
			longest = max(longest, len(got))
			closers := strings.TrimLeft(strings.TrimRight(string(got), `"]}`), " ")
			if len(got) > 4 && !strings.HasPrefix(strings.TrimLeft(raw, " "), closers) {
				t.Errorf("%s cut at %d is another: %s", raw, n, got)
			}
		}
		if raw[0] == '{' && longest < len(raw)-5 {
			t.Errorf("at most %d bytes of %d are kept of %s", longest, len(raw), raw)
		}
	}
}

func TestExcerptThatCannotBeRedacted(t *testing.T) {
	p := aSession(t, nil, func(o *Options) { o.Redactors = []event.Redactor{brokenRedactor{}} })
	got, excerpt := p.session.auditTexts(recordTexts{Tool: "Bash", Reason: "why", Input: json.RawMessage(`{"a":1}`)})
	if got.Tool+got.Reason != "" || excerpt != withheldText {
		t.Errorf("texts = %+v, excerpt %q", got, excerpt)
	}
}

// Edits about a tool are about what repeats its call, not about what was decided.
func TestExcerptIsThePayloadOfItsTool(t *testing.T) {
	p := aSession(t, nil, func(o *Options) { o.Redactors = []event.Redactor{notLogged{}} })
	got, excerpt := p.session.auditTexts(recordTexts{Tool: "Bash", Rule: "a.b", Reason: "why", Input: json.RawMessage(`{"command":"x"}`)})
	if got.Tool != "Bash" || got.Rule != "a.b" || got.Reason != "why" || excerpt != `"(not logged)"` {
		t.Errorf("texts = %+v, excerpt %s", got, excerpt)
	}
	if _, excerpt = p.session.auditTexts(recordTexts{Tool: "Read", Input: json.RawMessage(`{"path":"x"}`)}); excerpt != `{"path":"x"}` {
		t.Errorf("excerpt of another tool = %s", excerpt)
	}
}

type notLogged struct{}

func (notLogged) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Tool == "Bash" {
		return json.RawMessage(`{"input":"(not logged)"}`), nil, nil
	}
	return p.Data, nil, nil
}

type brokenRedactor struct{}

func (brokenRedactor) Redact(context.Context, event.Payload) (json.RawMessage, []event.Redaction, error) {
	return nil, nil, errors.New("broken")
}

// A secret is planted wherever a text can come from.
func TestNoSecretInAnyRecord(t *testing.T) {
	secret := aToken()
	log := &fakeLog{}
	p := aSession(t, log, func(o *Options) { o.Redactors = []event.Redactor{realRedactor(t)} })
	s := p.session
	input := fmt.Sprintf(`{"command":"curl -H 'token: %s'"}`, secret) // byTool's reasons repeat it
	ask := askFor("Ask", input)
	ask.Fields["description"] = json.RawMessage(`"uses ` + secret + `"`)
	if a := p.answered(t, askFor("Allow", input), nil); !strings.Contains(a, secret) || string(log.of(audit.Decision)[0].Input.Raw) != input {
		t.Errorf("what runs, or is recorded, is not what was asked: %s", a)
	}
	p.answered(t, askFor("Deny", input), nil)
	p.answered(t, hookFor("Deny", input), nil)
	p.answered(t, ask, yes)
	p.answered(t, ask, &Answer{DenyMessage: "never send " + secret})
	p.answered(t, askFor("AskUserQuestion", `{"questions":[]}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"questions":[],"answers":{"key?":"` + secret + `"}}`)})
	p.answered(t, formFor("send "+secret), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"my pass` + `phrase"}}`)})
	p.answered(t, promptFor("@"+secret), nil)
	s.notice("protocol_error", "the line "+secret, nil)
	s.notice("limit", "for "+secret, nil)
	s.noteUnmediated("hook", secret)
	_, _ = s.engine.Start(t.Context(), StartParams{Prompt: "use " + secret, Env: map[string]string{"K": "plain-value-of-env"}, Executable: "/no/such/claude"})
	s.onRecord.Store(true)
	s.cancel("because of "+secret, "client")
	<-s.Done()
	whole := log.whole(t)
	for _, hidden := range []string{secret[4:20], "my pass" + "phrase", "plain-value-of-env"} {
		if strings.Contains(whole, hidden) {
			at := strings.Index(whole, hidden)
			t.Errorf("%q is in the log: …%s", hidden, whole[max(0, at-300):at+20])
		}
	}
	for _, kind := range []audit.Kind{
		audit.Decision, audit.Admission, audit.ApprovalAsked, audit.ApprovalAnswered, audit.Redaction, audit.Unmediated, audit.ProtocolError, audit.Limit, audit.SessionEnd,
	} {
		if len(log.of(kind)) == 0 {
			t.Errorf("nothing of kind %s was recorded", kind)
		}
	}
}
