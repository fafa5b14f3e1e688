package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of requests over HTTP.
const (
	dialTimeout   = 10 * time.Second
	streamTimeout = 10 * time.Second // for the headers of the stream of notifications
	maxErrorBody  = 64 << 10
	maxHeaders    = 64 << 10
	maxRedirects  = 5
	maxReconnects = 3 // of a stream that was interrupted
)

// endpoint is a server that is reached by HTTP: the transport of a client of the
// go-sdk, and the way all its requests take.
type endpoint struct {
	mcp.StreamableClientTransport
	target    *url.URL
	headers   map[string]Secret
	transport *http.Transport
	intake    *intake

	ctx    context.Context // ends when it was given up
	cancel func()

	mu     sync.Mutex
	broken error // why it was given up
}

// reach prepares a connection; nothing is sent yet.
func (s *Server) reach(headers map[string]Secret, c *cover, logger *slog.Logger) *endpoint {
	e := &endpoint{target: s.target, headers: headers, intake: newIntake(c, logger)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  max(s.c.Timeout, s.c.StartTimeout) + dialTimeout, // a server may send them with the result
		MaxResponseHeaderBytes: maxHeaders,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        time.Minute,
	}
	e.StreamableClientTransport = mcp.StreamableClientTransport{
		Endpoint: s.target.String(), MaxRetries: maxReconnects, MaxEventSize: 2 * maxMessage, // bounded before it gets there
		HTTPClient: &http.Client{Transport: e, CheckRedirect: e.redirect},
	}
	return e
}

// origin is what headers are meant for.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func (e *endpoint) redirect(r *http.Request, before []*http.Request) error {
	switch {
	case origin(r.URL) != origin(e.target):
		return fmt.Errorf("it redirects to %s://%s, which is not %s: that gets neither the request nor its headers; name it in the URL if it is meant", r.URL.Scheme, r.URL.Host, origin(e.target))
	case r.Method != before[0].Method:
		return errors.New("it redirects in a way that loses the request; name the place it means in the URL")
	case len(before) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

// RoundTrip implements http.RoundTripper for the go-sdk's client.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if origin(r.URL) != origin(e.target) {
		return nil, fmt.Errorf("a request to %s, which is not the server", r.URL.Host)
	}
	r = r.Clone(r.Context())
	for name, value := range e.headers {
		r.Header.Set(name, string(value))
	}
	if r.Method == http.MethodGet {
		return e.stream(r)
	}
	if err := e.note(r); err != nil {
		return nil, err
	}
	response, err := e.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return e.checked(response)
}

// note tells the intake of the message in r.
func (e *endpoint) note(r *http.Request) error {
	if r.GetBody == nil {
		return nil // no message, such as at the end
	}
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	raw, err := io.ReadAll(body) // ours, in memory
	if err != nil || len(raw) == 0 {
		return err
	}
	message, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return err
	}
	e.intake.sent(r.Context(), message)
	return nil
}

// stream asks for the stream of notifications. A server that does not answer in
// time is taken for one that has none: the client of the go-sdk would wait for good.
func (e *endpoint) stream(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(streamTimeout, cancel)
	response, err := e.transport.RoundTrip(r.WithContext(ctx))
	if !late.Stop() && r.Context().Err() == nil {
		if response != nil {
			response.Body.Close()
		}
		cancel()
		return &http.Response{
			StatusCode: http.StatusMethodNotAllowed, Status: "405 no stream in time", Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
			Header: http.Header{}, Body: http.NoBody, Request: r,
		}, nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &ended{response.Body, cancel}
	return e.checked(response)
}

// ended is a body whose request is given up when it is closed.
type ended struct {
	io.ReadCloser
	cancel func()
}

func (b *ended) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// checked bounds and covers a response.
func (e *endpoint) checked(r *http.Response) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.StatusCode >= 300 && r.StatusCode < 400:
		return r, nil // of which only the headers are read
	case r.StatusCode < 200 || r.StatusCode >= 300:
		raw, _ := io.ReadAll(io.LimitReader(r.Body, maxErrorBody)) // what came of it has to do
		return replaced(r, e.refusal(raw)), nil
	case kind == "text/event-stream":
		r.Body = newEvents(r.Body, e)
		return r, nil
	case kind == "application/json":
		return e.document(r)
	}
	return replaced(r, nil), nil // nothing is read of it
}

// refusal is the body of an error.
func (e *endpoint) refusal(raw []byte) []byte {
	if json.Valid(raw) {
		return e.intake.cover.message(raw)
	}
	return []byte(e.intake.cover.text(string(raw)))
}

// document reads a response that is one message.
func (e *endpoint) document(r *http.Response) (*http.Response, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxMessage+1))
	if err == nil && len(raw) > maxMessage {
		err = errTooLong
	}
	if err != nil {
		r.Body.Close()
		return nil, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return replaced(r, nil), nil
	}
	message, err := e.intake.take(raw)
	if err == nil && message == nil {
		err = errors.New("it answered with what is no answer to the request")
	}
	if err == nil {
		raw, err = jsonrpc.EncodeMessage(message)
	}
	if err != nil {
		r.Body.Close()
		return nil, e.giveUp(err)
	}
	return replaced(r, raw), nil
}

func replaced(r *http.Response, body []byte) *http.Response {
	r.Body.Close()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	return r
}

// giveUp notes that the server is to be left if err says so.
func (e *endpoint) giveUp(err error) error {
	if errors.Is(err, errFlood) || errors.Is(err, errTooDeep) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.broken = errors.Join(e.broken, err)
		e.cancel()
	}
	return err
}

func (e *endpoint) alive() context.Context { return e.ctx }

// why says how it came to the end of the connection.
func (e *endpoint) why(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil {
		return e.broken
	}
	return err
}

func (e *endpoint) stop() error {
	e.cancel()
	e.transport.CloseIdleConnections()
	return nil
}
