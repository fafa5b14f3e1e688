package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxRequests bounds the log; later requests are answered and not kept.
	maxRequests = 1000
	// maxBody is the largest request body read.
	maxBody = 64 << 20
)

// MainLane is the name of the conversation no lane matched, SideLane that of
// requests without tools.
const (
	MainLane = "main"
	SideLane = "side"
)

// Request is one request as the server received it.
type Request struct {
	Path   string
	Lane   string      // MainLane, SideLane or the Match of a lane; empty for other paths
	Header http.Header // without the credentials
	Body   json.RawMessage
}

// Server serves one scenario until Close. It is safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port

	scenario Scenario
	http     *http.Server
	done     chan struct{} // closed by Close; ends waiting replies
	served   chan struct{} // closed when the accept loop ended
	close    sync.Once

	mu       sync.Mutex
	position map[string]int // next reply by lane
	ids      int
	requests []Request
}

// New starts a server on a free loopback port.
func New(scenario Scenario) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fake api: %w", err)
	}
	s := &Server{
		URL:      "http://" + listener.Addr().String(),
		scenario: scenario,
		done:     make(chan struct{}),
		served:   make(chan struct{}),
		position: make(map[string]int),
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { // ended by Close
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic("fake api: " + err.Error())
		}
	}()
	return s, nil
}

// Close ends the server and every reply under way.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		_ = s.http.Close()
		<-s.served
	})
}

// Requests returns what was received so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Saw reports whether any request carried text anywhere in its body, that is,
// whether a model would have read it. text must not need JSON escapes.
func (s *Server) Saw(text string) bool {
	return slices.ContainsFunc(s.Requests(), func(r Request) bool {
		return strings.Contains(string(r.Body), text)
	})
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, struct{}{}) })
	mux.HandleFunc("/", s.unknown)
	return mux
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, ok := s.read(w, r)
	if !ok {
		return
	}
	s.keep(Request{Path: r.URL.Path, Header: publicHeader(r.Header), Body: body})
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": max(1, len(body)/4)})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.keep(Request{Path: r.URL.Path, Header: publicHeader(r.Header)})
	writeError(w, http.StatusNotFound, APIError{Type: "not_found_error", Message: r.URL.Path})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) (json.RawMessage, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || !json.Valid(body) {
		writeError(w, http.StatusBadRequest, APIError{Type: "invalid_request_error", Message: "body is not JSON"})
		return nil, false
	}
	return body, true
}

func (s *Server) keep(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) < maxRequests {
		s.requests = append(s.requests, r)
	}
}

// publicHeader drops the credentials, so that a log of requests never holds any.
func publicHeader(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Authorization")
	h.Del("X-Api-Key")
	return h
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func writeError(w http.ResponseWriter, status int, e APIError) {
	writeJSON(w, status, map[string]any{"type": "error", "error": e, "request_id": "req_fake"})
}
