package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, o Options) *Log {
	t.Helper()
	if o.Folder == "" {
		o.Folder = filepath.Join(t.TempDir(), "decisions")
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeLog(t, l) })
	return l
}

func closeLog(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(context.Background()); err != nil {
		t.Error(err)
	}
	select {
	case <-l.done:
	default:
		t.Error("the writer still runs after Close")
	}
}

func entry(id, input string) Entry {
	return Entry{
		ID: id, Path: "gatehouse/permission/decisions", Time: time.Now(), Profile: "dev",
		Revisions: map[string]string{"builtin": "b1", "user": "u1"}, RequestedBy: "client",
		Input: func() (json.RawMessage, error) { return json.RawMessage(input), nil }, Size: len(input),
		Result: map[string]any{"effect": "ask", "rule": "git.push"}, RuleLabels: []map[string]string{{"owner": "platform"}},
	}
}

// events reads what stands in all files of a folder.
func events(t *testing.T, folder string) (all []Event, text string) {
	t.Helper()
	paths, err := Files(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		unreadable, err := ReadFile(path, func(e Event) error { all = append(all, e); return nil })
		if err != nil || unreadable != 0 {
			t.Fatalf("%s: %d unreadable lines, %v", path, unreadable, err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	return all, text
}

func TestRecordAndRead(t *testing.T) {
	l := open(t, Options{ID: "run-1", Version: "v1"})
	l.Record(entry("a", `{"tool":{"name":"Bash","input":{"command":"cat < in > out"}},"n":9007199254740993}`))
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if len(all) != 1 {
		t.Fatalf("%d events", len(all))
	}
	e := all[0]
	if e.DecisionID != "a" || e.Labels["id"] != "run-1" || e.Labels["version"] != "v1" || e.Labels["profile"] != "dev" ||
		e.Bundles["user"].Revision != "u1" || e.Path != "gatehouse/permission/decisions" || e.RequestedBy != "client" ||
		e.RequestID != 1 || e.Timestamp.IsZero() || e.RuleLabels[0]["owner"] != "platform" || e.Covered() {
		t.Errorf("event %+v", e)
	}
	if !strings.Contains(text, `cat < in > out`) || !strings.Contains(text, "9007199254740993") {
		t.Errorf("the input was changed: %s", text)
	}
}

// What is secret stands in no line, wherever in the decision it was.
func TestSecretsAreCovered(t *testing.T) {
	secret := "AKIA" + strings.Repeat("Q7", 8)
	escaped := `AK\u0049A` + strings.Repeat("Q7", 8)
	l := open(t, Options{})
	e := entry("a", `{"command":"export K=`+escaped+`","deep":["`+secret+`"]}`)
	e.Result = map[string]any{"reason": "no " + secret}
	e.Custom = map[string]any{"approval": secret}
	e.Error = &Failure{Code: "engine.error", Message: secret}
	l.Record(e)
	closeLog(t, l)
	all, text := events(t, l.options.Folder)
	if strings.Contains(text, secret) || strings.Contains(text, escaped) {
		t.Errorf("the secret was written: %s", text)
	}
	if len(all) != 1 || !all[0].Covered() || !strings.Contains(strings.Join(all[0].Masked, " "), "/input/deep/0") {
		t.Errorf("events %+v", all)
	}
}

func TestMasks(t *testing.T) {
	const input = `{"a":{"b":[1,{"c":"x"}]},"d/e":"y","keep":true}`
	for _, test := range []struct {
		name           string
		ops            []MaskOp
		err            error
		input          string
		erased, masked string
	}{
		{"none", nil, nil, input, "", ""},
		{"remove a member", []MaskOp{{Path: "/input/a"}}, nil, `{"d/e":"y","keep":true}`, "/input/a", ""},
		{"remove an element", []MaskOp{{Op: "remove", Path: "/input/a/b/0"}}, nil, `{"a":{"b":[{"c":"x"}]},"d/e":"y","keep":true}`, "/input/a/b/0", ""},
		{"replace", []MaskOp{{Op: "upsert", Path: "/input/a/b/1/c", Value: "-"}}, nil, `{"a":{"b":[1,{"c":"-"}]},"d/e":"y","keep":true}`, "", "/input/a/b/1/c"},
		{"add", []MaskOp{{Op: "upsert", Path: "/input/new", Value: 1}}, nil, `{"a":{"b":[1,{"c":"x"}]},"d/e":"y","keep":true,"new":1}`, "", "/input/new"},
		{"an escaped name", []MaskOp{{Path: "/input/d~1e"}}, nil, `{"a":{"b":[1,{"c":"x"}]},"keep":true}`, "/input/d~1e", ""},
		{"the whole input", []MaskOp{{Path: "/input"}}, nil, "", "/input", ""},
		{"nowhere", []MaskOp{{Path: "/input/none/b"}, {Path: "/input/a/b/7"}, {Path: "/input/a/b/00"}}, nil, input, "", ""},
		{"an unknown part", []MaskOp{{Path: "/decision_id"}}, nil, "", "/input /result /rule_labels /requested_by", ""},
		{"another type", []MaskOp{{Op: "upsert", Path: "/labels/id", Value: 1}}, nil, "", "/input /result /rule_labels /requested_by", ""},
		{"two of a list", []MaskOp{{Path: "/input/a/b/0"}, {Path: "/input/a/b/1"}}, nil, `{"a":{"b":[]},"d/e":"y","keep":true}`, "/input/a/b/1 /input/a/b/0", ""},
		{"a label", []MaskOp{{Path: "/labels/id"}}, nil, input, "/labels/id", ""},
		{"the caller", []MaskOp{{Op: "upsert", Path: "/requested_by", Value: "-"}}, nil, input, "", "/requested_by"},
		{"labels of rules", []MaskOp{{Path: "/rule_labels/0/owner"}}, nil, input, "/rule_labels/0/owner", ""},
		{"an unknown operation", []MaskOp{{Op: "drop", Path: "/input/a"}}, nil, "", "/input /result /rule_labels /requested_by", ""},
		{"an error", nil, errors.New("no"), "", "/input /result /rule_labels /requested_by", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, Options{})
			e := entry("a", input)
			e.Mask = func(_ context.Context, event json.RawMessage) ([]MaskOp, error) {
				if !json.Valid(event) {
					t.Error("the masks were shown no JSON")
				}
				return test.ops, test.err
			}
			l.Record(e)
			closeLog(t, l)
			all, _ := events(t, l.options.Folder)
			if len(all) != 1 {
				t.Fatalf("%d events", len(all))
			}
			got := all[0]
			if string(got.Input) != test.input || strings.Join(got.Erased, " ") != test.erased || strings.Join(got.Masked, " ") != test.masked {
				t.Errorf("input %s, erased %v, masked %v", got.Input, got.Erased, got.Masked)
			}
		})
	}
}

func TestHiddenValuesAreNeverWritten(t *testing.T) {
	l := open(t, Options{})
	e := entry("a", `{"parameters":{"env.TOKEN":"hunter2"}}`)
	e.Hide = []string{"/input/parameters/env.TOKEN"}
	e.Mask = func(_ context.Context, event json.RawMessage) ([]MaskOp, error) {
		if bytes.Contains(event, []byte("hunter2")) {
			t.Error("the masks were shown a hidden value")
		}
		return nil, nil
	}
	l.Record(e)
	closeLog(t, l)
	if all, text := events(t, l.options.Folder); len(all) != 1 || strings.Contains(text, "hunter2") || !all[0].Covered() {
		t.Errorf("events %s", text)
	}
}

// What finds no room is counted, and the next line tells.
func TestLost(t *testing.T) {
	var logged bytes.Buffer
	l := open(t, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	large := entry("large", `{}`)
	large.Size = maxQueuedBytes + 1
	l.Record(large)
	broken := entry("broken", `{}`)
	broken.Input = func() (json.RawMessage, error) { return nil, errors.New("no document") }
	l.Record(broken)
	l.Record(entry("after", `{}`))
	closeLog(t, l)
	l.Record(entry("late", `{}`))
	all, _ := events(t, l.options.Folder)
	if len(all) != 1 || all[0].DecisionID != "after" || fmt.Sprint(all[0].Custom["lost"]) != "2" {
		t.Errorf("events %+v", all)
	}
	if !strings.Contains(logged.String(), "not written") {
		t.Errorf("log %s", &logged)
	}
}

func TestLongLineLosesItsInput(t *testing.T) {
	l := open(t, Options{})
	l.Record(entry("a", `{"x":"`+strings.Repeat("y", maxLine)+`"}`))
	closeLog(t, l)
	all, _ := events(t, l.options.Folder)
	if len(all) != 1 || all[0].Input != nil || strings.Join(all[0].Erased, " ") != "/input /result /rule_labels /requested_by" {
		t.Fatalf("%d events, erased %v", len(all), all[0].Erased)
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	const writers, each = 8, 50
	l := open(t, Options{})
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				l.Record(entry(fmt.Sprint(w, "-", i), `{}`))
			}
		})
	}
	wait.Wait()
	closeLog(t, l)
	seen := map[string]bool{}
	all, _ := events(t, l.options.Folder)
	for i, e := range all {
		seen[e.DecisionID] = true
		if e.RequestID != uint64(i+1) {
			t.Fatalf("line %d has number %d", i+1, e.RequestID)
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d decisions of %d", len(seen), writers*each)
	}
}
