package event

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// upTo is a stream that holds back what follows the last space.
type upTo struct{ held string }

func (u *upTo) Write(piece string) (string, []Redaction) {
	if strings.Contains(piece, "PANIC") {
		panic("no")
	}
	text := u.held + piece
	at := strings.LastIndexByte(text, ' ') + 1
	u.held = text[at:]
	return text[:at], []Redaction{{Detector: "w", Count: 1}}
}

func (u *upTo) Close() (string, []Redaction) { return u.held, []Redaction{{Detector: "c", Count: 1}} }

// streaming is a redactor whose streams are as begin says.
type streaming struct {
	redactFunc
	begin func(Payload) (Stream, error)
}

func (s streaming) Stream(_ context.Context, p Payload) (Stream, error) { return s.begin(p) }

func begins(Payload) (Stream, error) { return &upTo{}, nil }

func TestStreamsAreChained(t *testing.T) {
	for n := range 3 {
		var redactors []Redactor
		for range n {
			redactors = append(redactors, streaming{begin: begins}, redactFunc(nil))
		}
		s, err := NewLog(0, redactors...).Stream(context.Background(), Payload{})
		if err != nil || (s == nil) != (n == 0) {
			t.Fatalf("%d redactors: %v, %v", n, s, err)
		}
		if n == 0 {
			continue
		}
		a, first := s.Write("one tw")
		b, _ := s.Write("o three")
		c, last := s.Close()
		if a != "one " || a+b+c != "one two three" || len(first) != n || len(last) < n {
			t.Errorf("%d redactors: %q %q %q, found %v and %v", n, a, b, c, first, last)
		}
	}
}

func TestBrokenStreamsLetNothingPass(t *testing.T) {
	l := NewLog(0, streaming{begin: begins}, streaming{begin: begins})
	s, err := l.Stream(context.Background(), Payload{})
	if err != nil {
		t.Fatal(err)
	}
	s.Write("one ")
	a, _ := s.Write("PANIC two ")
	b, _ := s.Write("three ")
	c, _ := s.Close()
	if a != "" || b != "" || !strings.Contains(c, "withheld") {
		t.Errorf("after a panic: %q %q %q", a, b, c)
	}
	for name, begin := range map[string]func(Payload) (Stream, error){
		"error": func(Payload) (Stream, error) { return nil, errors.New("no") },
		"panic": func(Payload) (Stream, error) { panic("no") },
	} {
		if s, err := NewLog(0, streaming{begin: begin}).Stream(context.Background(), Payload{}); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestStreamsAndEventsTellTheOrigin(t *testing.T) {
	var got *Origin
	l := NewLog(0, streaming{
		redactFunc: func(d json.RawMessage) (json.RawMessage, []Redaction, error) {
			return d, []Redaction{{Detector: "later"}}, nil
		},
		begin: func(p Payload) (Stream, error) { got = p.Origin; return &upTo{}, nil },
	})
	o := &Origin{SessionID: "s"}
	l.SetOrigin(o)
	if _, err := l.Stream(context.Background(), Payload{}); err != nil || got != o {
		t.Errorf("origin %v, %v", got, err)
	}
	e := l.Add(context.Background(), Payload{Kind: Partial, Data: json.RawMessage(`{}`)}, Redaction{Detector: "before"})
	if len(e.Redactions) != 2 || e.Redactions[0].Detector != "before" || e.Redactions[1].Detector != "later" {
		t.Errorf("redactions %v", e.Redactions)
	}
}
