package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// incoming is what the server looks at in a request.
type incoming struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	System   json.RawMessage   `json:"system"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// head is the text a lane is matched against.
func (in incoming) head() string {
	text := plainText(in.System)
	if len(in.Messages) > 0 {
		text += "\n" + plainText(in.Messages[0].Content)
	}
	return text
}

// plainText joins the text of a content value: a string, or a list of blocks.
func plainText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // anything else has no text
	lines := make([]string, 0, len(blocks))
	for _, b := range blocks {
		lines = append(lines, b.Text)
	}
	return strings.Join(lines, "\n")
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, ok := s.read(w, r)
	if !ok {
		return
	}
	var in incoming
	if err := json.Unmarshal(body, &in); err != nil {
		writeError(w, http.StatusBadRequest, APIError{Type: "invalid_request_error", Message: err.Error()})
		return
	}
	lane, turn := s.next(in)
	s.keep(Request{Path: r.URL.Path, Lane: lane, Header: publicHeader(r.Header), Body: body})
	if !s.pause(r, turn.Delay) {
		return
	}
	s.answer(w, r, in, turn)
}

// next picks the conversation and takes its next reply.
func (s *Server) next(in incoming) (lane string, turn Turn) {
	if len(in.Tools) == 0 && !s.scenario.SideInLanes {
		return SideLane, orElse(s.scenario.Side, Say("ok"))
	}
	lane, turns := MainLane, s.scenario.Turns
	head := in.head()
	for _, l := range s.scenario.Lanes {
		if strings.Contains(head, l.Match) {
			lane, turns = l.Match, l.Turns
			break
		}
	}
	s.mu.Lock()
	p := s.position[lane]
	s.position[lane]++
	s.mu.Unlock()
	if turn, ok := turnAt(turns, p); ok {
		return lane, turn
	}
	return lane, orElse(s.scenario.End, Say("(script exhausted)"))
}

func orElse(t *Turn, other Turn) Turn {
	if t != nil {
		return *t
	}
	return other
}

// pause waits; false when the client left or the server closed meanwhile.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, in incoming, turn Turn) {
	if turn.Drop {
		panic(http.ErrAbortHandler) // net/http's way to close without a reply
	}
	maps.Copy(w.Header(), turn.Headers)
	if turn.Status > 0 {
		e := APIError{Type: "api_error", Message: "scripted error"}
		if turn.Error != nil {
			e = *turn.Error
		}
		writeError(w, turn.Status, e)
		return
	}
	m := s.message(in.Model, turn)
	if in.Stream {
		s.stream(w, r, m, turn)
		return
	}
	writeJSON(w, http.StatusOK, m.whole())
}

// id returns a fresh identifier such as "msg_fake_0001".
func (s *Server) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_fake_%04d", prefix, s.ids)
}
