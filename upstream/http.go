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
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of requests over HTTP.
const (
	dialTimeout   = 10 * time.Second
	streamPrompt  = time.Second // for the headers of the stream of notifications, which may come later
	farewell      = time.Second // for the request that ends a session
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
	dialer := &net.Dialer{Timeout: dialTimeout}
	if s.target.Scheme == "http" {
		dialer.Control = stayHere
	}
	e.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
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

// stayHere refuses to connect to another machine, whatever localhost resolves to.
func stayHere(_, address string, _ syscall.RawConn) error {
	if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
		return fmt.Errorf("%s is no loopback address; http is for those only", address)
	}
	return nil
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
	switch r.Method {
	case http.MethodGet:
		return e.stream(r)
	case http.MethodDelete:
		ctx, cancel := context.WithTimeout(r.Context(), farewell)
		defer cancel() // of the response only the headers are read
		r = r.WithContext(ctx)
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

// stream asks for the stream of notifications. The client of the go-sdk does nothing
// else meanwhile, and some servers send no headers before the first notification:
// from such a one it gets a stream on which nothing comes until then.
func (e *endpoint) stream(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	type outcome struct {
		response *http.Response
		err      error
	}
	got := make(chan outcome, 1)
	go func() { // ends with ctx, or ResponseHeaderTimeout
		response, err := e.transport.RoundTrip(r.WithContext(ctx))
		got <- outcome{response, err}
	}()
	prompt := time.NewTimer(streamPrompt)
	defer prompt.Stop()
	select {
	case o := <-got:
		if o.err != nil {
			cancel()
			return nil, o.err
		}
		o.response.Body = &ended{o.response.Body, cancel}
		return e.checked(o.response)
	case <-prompt.C:
	}
	in, out := io.Pipe()
	go func() { // ends with the stream, or ctx
		if o := <-got; o.err == nil {
			e.forward(o.response, out)
		}
		<-ctx.Done() // there is no stream: nothing comes of it
		out.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 later", Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: http.Header{"Content-Type": {eventStream}}, Body: &ended{in, cancel}, Request: r,
	}, nil
}

const eventStream = "text/event-stream"

// forward passes a stream on that came late; what is none is dropped.
func (e *endpoint) forward(r *http.Response, to *io.PipeWriter) {
	defer r.Body.Close()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.StatusCode != http.StatusOK || kind != eventStream {
		return
	}
	_, err := io.Copy(to, newEvents(r.Body, e))
	to.CloseWithError(err)
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
		return replaced(r, e.refusal(r.StatusCode, raw)), nil
	case kind == eventStream:
		r.Body = newEvents(r.Body, e)
		return r, nil
	case kind == "application/json":
		return e.document(r)
	}
	return replaced(r, nil), nil // nothing is read of it
}

// refusal is the body of an error. Where that is none of MCP one is made of it: the
// client of the go-sdk would end the connection, with the calls of all sessions. The
// end is right where the secret or the session has to be found anew.
func (e *endpoint) refusal(status int, raw []byte) []byte {
	raw = e.intake.cover.message(raw)
	message, err := jsonrpc.DecodeMessage(raw)
	if said, ok := message.(*jsonrpc.Response); err == nil && ok && said.Error != nil {
		return raw
	}
	if status < 400 || status >= 500 || status == http.StatusUnauthorized || status == http.StatusNotFound {
		return nil
	}
	text, _ := json.Marshal(fmt.Sprintf("it answered with status %d (%s)", status, http.StatusText(status))) // a string is always encoded
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"error":{"code":%d,"message":%s}}`, jsonrpc.CodeInternalError, text)
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
	if errors.Is(err, errFlood) || errors.Is(err, errTooDeep) || errors.Is(err, errTooLong) {
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

// unanswered is what the client of the go-sdk says of a response that ended early.
const unanswered = "request terminated without response"

// lost implements carrier: a response that just ends early is no matter of other
// requests.
func (e *endpoint) lost(err error) bool {
	return e.why(nil) != nil || !strings.Contains(err.Error(), unanswered)
}

func (e *endpoint) stop() error {
	e.cancel()
	e.transport.CloseIdleConnections()
	return nil
}
