package cli

import (
	"strings"
	"testing"
)

// shouting keeps a text in capitals, one word late.
type shouting struct{ held string }

func (s *shouting) Write(piece string) string {
	text := s.held + piece
	at := strings.LastIndexByte(text, ' ') + 1
	s.held = text[at:]
	return strings.ToUpper(text[:at])
}

func (s *shouting) Close() string { return strings.ToUpper(s.held) }

func TestRingKeepsWhatItsCoverLeaves(t *testing.T) {
	r := ring{cover: &shouting{}}
	for _, piece := range []string{"one tw", "o thr", "ee"} {
		if n, err := r.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("write %q: %d, %v", piece, n, err)
		}
	}
	if got := r.String(); got != "ONE TWO " {
		t.Errorf("kept %q before the end", got)
	}
	if r.close(); r.String() != "ONE TWO THREE" {
		t.Errorf("kept %q", r.String())
	}
}

func TestRingIsBounded(t *testing.T) {
	for _, r := range []*ring{{}, {cover: &shouting{}}} {
		for range 5 {
			r.Write([]byte(strings.Repeat("x", StderrKept/2) + " "))
		}
		r.Write([]byte("end "))
		if got := r.String(); len(got) != StderrKept || !strings.HasSuffix(strings.ToLower(got), "end ") {
			t.Errorf("kept %d bytes, the last ones %q", len(got), got[len(got)-9:])
		}
	}
}
