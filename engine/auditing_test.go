package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// door is one way for something to be let through.
type door struct {
	name    string
	request control.Request
	answer  *Answer // to its question; nil: none is put
	lets    bool    // where the log is well
	want    string  // "effect rule by door"
}

var (
	yes = &Answer{Allow: true}
	no  = &Answer{DenyMessage: "not today"}
)

func doors() []door {
	return []door{
		{"allow", askFor("Allow", `{"command":"x"}`), nil, true, "allow test.allow policy/user can_use_tool"},
		{"obligation", askFor("AllowPlain", `{"command":"x"}`), nil, true, "allow test.allowplain policy/user can_use_tool"},
		{"modify", askFor("Modify", `{"command":"x"}`), nil, true, "allow test.modify policy/user can_use_tool"},
		{"deny", askFor("Deny", `{"command":"x"}`), nil, false, "deny test.deny policy/user can_use_tool"},
		{"halt", askFor("Halt", `{"command":"x"}`), nil, false, "halt test.halt policy/user can_use_tool"},
		{"judge broken", askFor("Fail", `{"command":"x"}`), nil, false, "deny engine.error error/engine.error can_use_tool"},
		{"unreadable", askFor("", `{}`), nil, false, "deny engine.decode error/engine.decode can_use_tool"},
		{"early deny", hookFor("Deny", `{"command":"x"}`), nil, false, "deny test.deny policy/user pre_tool_use"},
		{"early and unreadable", hookFor("", `{}`), nil, false, "deny engine.decode error/engine.decode pre_tool_use"},
		{"answered", askFor("Ask", `{"command":"x"}`), yes, true, "allow test.ask approver/client can_use_tool"},
		{"answered by a person", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, Approver: "human"}, true, "allow test.ask approver/human can_use_tool"},
		{"answered with another input", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, true, "allow test.ask approver/client can_use_tool"},
		{"refused", askFor("Ask", `{"command":"x"}`), no, false, "deny test.ask approver/client can_use_tool"},
		{"question of the model", askFor("AskUserQuestion", `{"questions":[]}`), yes, true, "allow test.askuserquestion approver/client can_use_tool"},
		{"form", formFor("your name?"), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"ada"}}`)}, true, "allow test.elicitation approver/client elicitation"},
		{"form declined", formFor("your name?"), no, false, "deny test.elicitation approver/client elicitation"},
		{"mention", promptFor("see @a.txt"), nil, true, "allow test.read policy/user mention"},
		{"forbidden mention", promptFor("@forbidden"), nil, false, "deny test.read policy/user mention"},
	}
}

func saidOf(r audit.Record) string {
	by := strings.TrimSuffix(r.By.Kind+"/"+r.By.Name, "/")
	return fmt.Sprintf("%s %s %s %s", r.Verdict.Effect, r.Verdict.Rule, by, r.Door)
}

func TestEveryDecisionIsRecorded(t *testing.T) {
	for _, c := range doors() {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{}
			p := aSession(t, log, nil)
			answer := p.answered(t, c.request, c.answer)
			if lets(answer) != c.lets {
				t.Fatalf("answer = %s", answer)
			}
			found := log.of(audit.Decision)
			if len(found) == 0 {
				t.Fatal("nothing was recorded")
			}
			r := found[len(found)-1]
			if saidOf(r) != c.want {
				t.Errorf("record = %s, want %s", saidOf(r), c.want)
			}
			if r.Session != p.session.id || r.Cwd != p.session.cwd || r.Principal.Client != "desk" || r.Principal.UID != 7 {
				t.Errorf("session, folder or principal: %+v", r)
			}
			asked := log.of(audit.ApprovalAsked)
			if (len(asked) == 1) != (c.answer != nil) {
				t.Fatalf("%d questions were noted", len(asked))
			}
			if c.answer == nil {
				if r.RequestID != "" || r.ShownDigest != "" {
					t.Errorf("a question is named that was not put: %+v", r)
				}
				return
			}
			checkQuestion(t, p.session, log, r, asked[0])
		})
	}
}

// checkQuestion looks at what ties the records of a question together.
func checkQuestion(t *testing.T, s *Session, log *fakeLog, decision, asked audit.Record) {
	t.Helper()
	var shown string
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == event.PermissionAsked {
			shown = digest(e.Data)
		}
	}
	records := slices.Concat([]audit.Record{decision, asked}, log.of(audit.ApprovalAnswered), log.of(audit.Admission))
	if len(records) != 4 {
		t.Fatalf("%d records of the question, want 4", len(records))
	}
	for _, r := range records {
		if r.RequestID != decision.RequestID || r.RequestID == "" || r.ShownDigest != shown {
			t.Errorf("%s: request %q shown %q, want %q and %q", r.Kind, r.RequestID, r.ShownDigest, decision.RequestID, shown)
		}
	}
}

func TestRecordedInput(t *testing.T) {
	for _, c := range []struct {
		name    string
		request control.Request
		answer  *Answer
		raw     string
		excerpt string
		changed bool
	}{
		{"as asked", askFor("Allow", `{"command":"a && b"}`), nil, `{"command":"a && b"}`, `{"command":"a && b"}`, false},
		{"modified", askFor("Modify", `{"command":"x"}`), nil, `{"command":"changed"}`, `{"command":"changed"}`, true},
		{"by an approver", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, `{"command":"y"}`, `{"command":"y"}`, true},
		{"denied", askFor("Deny", `{"command":"x"}`), nil, `{"command":"x"}`, `{"command":"x"}`, false},
		{"filled form", formFor("?"), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"ada"}}`)}, `{"name":"ada"}`, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{}
			p := aSession(t, log, nil)
			p.answered(t, c.request, c.answer)
			found := log.of(audit.Decision)
			if len(found) != 1 {
				t.Fatalf("%d decisions", len(found))
			}
			r := found[0]
			if string(r.Input.Raw) != c.raw || r.Input.Excerpt != c.excerpt || r.Verdict.Changed != c.changed {
				t.Errorf("input = %s, excerpt %s, changed %v", r.Input.Raw, r.Input.Excerpt, r.Verdict.Changed)
			}
			if r.Policy == nil || r.Policy.Revision != "r7" || r.Policy.Package != "gatehouse.permission" || r.Verdict.ID == "" {
				t.Errorf("policy = %+v, verdict = %+v", r.Policy, r.Verdict)
			}
		})
	}
}

// A log that cannot be written to lets nothing through, in any door; denies are
// answered all the same.
func TestNothingRunsUnrecorded(t *testing.T) {
	full := fmt.Errorf("write audit log: %w", syscall.ENOSPC)
	for _, c := range doors() {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{fail: func(r audit.Record) error {
				if r.Kind == audit.Decision {
					return full
				}
				return nil
			}}
			p := aSession(t, log, nil)
			answer := p.answered(t, c.request, c.answer)
			if lets(answer) || strings.HasPrefix(answer, `"error`) {
				t.Fatalf("answer = %s", answer)
			}
			if !c.lets {
				if len(log.noted) == 0 || len(log.of(audit.Decision)) != 1 {
					t.Errorf("the deny was not noted: %+v", log.records)
				}
				return
			}
			if text := dumpOf(p.session) + answer; !strings.Contains(text, ruleAudit) || !strings.Contains(text, "no room on its disk") || strings.Contains(text, `"behavior":"allow"`) {
				t.Errorf("events and answer:\n%s", text)
			}
			if c.request.Subtype != "hook_callback" {
				if found := log.of(audit.Decision); len(found) != 1 || saidOf(found[0]) != "deny engine.audit error/engine.audit "+found[0].Door || found[0].RequestID == "" && c.answer != nil {
					t.Errorf("noted: %+v", found)
				}
			}
		})
	}
}

func dumpOf(s *Session) string {
	var b strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

func TestGrantIsRecordedOrDenied(t *testing.T) {
	broken := false
	log := &fakeLog{}
	log.fail = func(r audit.Record) error {
		if broken && r.Kind == audit.Decision {
			return errors.New("no")
		}
		return nil
	}
	p := aSession(t, log, nil)
	p.answered(t, askFor("Grant", `{"command":"x"}`), yes)
	if a := p.answered(t, askFor("Grant", `{"command":"y"}`), nil); !lets(a) {
		t.Fatalf("the grant did not answer: %s", a)
	}
	found := log.of(audit.Decision)
	if len(found) != 2 || saidOf(found[1]) != "allow test.grant grant can_use_tool" || found[1].RequestID != found[0].RequestID {
		t.Errorf("records = %+v", found)
	}
	broken = true
	if a := p.answered(t, askFor("Grant", `{"command":"z"}`), nil); lets(a) {
		t.Errorf("a grant let a call through unrecorded: %s", a)
	}
}

// An approval that could not be recorded grants nothing later either.
func TestUnrecordedApprovalGrantsNothing(t *testing.T) {
	broken := true
	log := &fakeLog{}
	log.fail = func(r audit.Record) error {
		if broken && r.Kind == audit.Decision {
			return errors.New("no")
		}
		return nil
	}
	p := aSession(t, log, nil)
	p.answered(t, askFor("Grant", `{"command":"x"}`), yes)
	broken = false
	if a := p.answered(t, askFor("Grant", `{"command":"y"}`), no); lets(a) {
		t.Errorf("the call ran: %s", a)
	}
}

func TestHungLogDeniesInTime(t *testing.T) {
	for _, deaf := range []bool{false, true} { // to its context
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			log := &fakeLog{hang: func(r audit.Record) bool {
				if r.Kind != audit.Decision {
					return false
				}
				if deaf {
					<-release
				}
				return true
			}}
			p := aSession(t, log, nil)
			began := time.Now()
			answer := p.answered(t, askFor("Allow", `{"command":"x"}`), nil)
			if took := time.Since(began); lets(answer) || took != auditPatience {
				t.Errorf("answer after %s: %s", took, answer)
			}
			if !strings.Contains(dumpOf(p.session), "did not answer within 10s") {
				t.Errorf("events:\n%s", dumpOf(p.session))
			}
			began = time.Now()
			if answer = p.answered(t, askFor("Deny", `{"command":"x"}`), nil); lets(answer) || time.Since(began) != auditPatience {
				t.Errorf("deny after %s: %s", time.Since(began), answer)
			}
			close(release)
		})
	}
}

// The record is there before the CLI gets its answer.
func TestAnswerWaitsForItsRecord(t *testing.T) {
	for _, c := range doors() {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			held := false
			log := &fakeLog{}
			log.fail = func(r audit.Record) error {
				if r.Kind == audit.Decision {
					held = true
					<-release
				}
				return nil
			}
			p := aSession(t, log, nil)
			out := make(chan string, 1)
			go func() { out <- p.answered(t, c.request, c.answer) }()
			time.Sleep(time.Second) // until nothing moves any more
			synctest.Wait()
			select {
			case answer := <-out:
				t.Errorf("%s: the answer came first: %s", c.name, answer)
			default:
			}
			if !held {
				t.Errorf("%s: no record was begun", c.name)
			}
			if c.lets && strings.Contains(dumpOf(p.session), `"behavior":"allow"`) {
				t.Errorf("%s: the event came first", c.name)
			}
			close(release)
			<-out
		})
	}
}

func TestAnUnwrittenAllowIsHeldBack(t *testing.T) {
	for _, a := range []any{allowAnswer{Behavior: "allow"}, formAnswer{Action: "accept"}} {
		if !unpermitted(a) {
			t.Errorf("%+v passed", a)
		}
	}
	for _, a := range []any{allowAnswer{permit: permit{true}}, formAnswer{Action: "accept", permit: permit{true}}, formAnswer{Action: "decline"}, denyAnswer{}, nil} {
		if unpermitted(a) {
			t.Errorf("%+v was held back", a)
		}
	}
}

func TestExpiredQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		p := aSession(t, log, nil)
		p.answered(t, askFor("Ask", `{"command":"x"}`), nil)
		expired, decisions := log.of(audit.ApprovalExpired), log.of(audit.Decision)
		if len(expired) != 1 || expired[0].By.Kind != "timeout" || expired[0].ShownDigest == "" {
			t.Errorf("expired = %+v", expired)
		}
		if len(decisions) != 1 || saidOf(decisions[0]) != "deny test.ask timeout can_use_tool" || decisions[0].ShownDigest != expired[0].ShownDigest {
			t.Errorf("decisions = %+v", decisions)
		}
	})
}
