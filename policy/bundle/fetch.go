package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of one request.
const (
	requestTime  = 30 * time.Second // with all redirects and the whole body
	headerTime   = 15 * time.Second // until the first line of the answer
	maxRedirects = 3
	maxEtag      = 512 // bytes; a longer one is not kept
)

// errUnchanged is the answer 304.
var errUnchanged = errors.New("not modified")

// fetcher gets a bundle over HTTP. Its errors name the address without its query
// and never what a proxy is called: both may hold credentials.
type fetcher struct {
	url    *url.URL
	client *http.Client
	max    int64
}

func newFetcher(address string, maxBytes int64) (*fetcher, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("url: not an address") // the cause would repeat it
	}
	switch {
	case u.User != nil:
		return nil, errors.New("url: holds a name or password, which would end in logs; serve bundles without")
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("url %s: want https://host/path", shown(u))
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("url %s: want https; http is for this machine only", shown(u))
	}
	transport := &http.Transport{
		Proxy: proxy, DisableCompression: true, // what counts are the bytes of the archive
		TLSHandshakeTimeout: headerTime, ResponseHeaderTimeout: headerTime,
		MaxIdleConns: 1, IdleConnTimeout: time.Second, MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2: true,
	}
	client := &http.Client{Transport: transport, Timeout: requestTime, CheckRedirect: sameHost}
	return &fetcher{url: u, client: client, max: maxBytes}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// proxy is that of the environment; its error would repeat what stands there.
func proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, errors.New("the proxy in the environment is no address")
	}
	return u, nil
}

// sameHost lets a redirect change the path only: another host was not configured.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Scheme != first.Scheme || !strings.EqualFold(r.URL.Host, first.Host) {
		return fmt.Errorf("redirected to %s, another host; configure that address", shown(&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}))
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	}
	return nil
}

// shown is an address without its query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// get returns the archive and its etag, or errUnchanged where the server still
// has the one of etag.
func (f *fetcher) get(ctx context.Context, etag string) ([]byte, string, error) {
	defer f.client.CloseIdleConnections() // the next request is a minute off
	raw, etag, err := f.request(ctx, etag)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil && !errors.Is(err, errUnchanged) {
		return nil, "", fmt.Errorf("get %s: %w", shown(f.url), err)
	}
	return raw, etag, err
}

func (f *fetcher) request(ctx context.Context, etag string) ([]byte, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.String(), nil)
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Accept", "application/gzip, application/octet-stream")
	r.Header.Set("User-Agent", "gatehouse")
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified && etag != "":
		return nil, "", errUnchanged
	case answer.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("the server answered %s", answer.Status)
	}
	raw, err := f.body(answer)
	if etag = answer.Header.Get("Etag"); len(etag) > maxEtag {
		etag = ""
	}
	return raw, etag, err
}

func (f *fetcher) body(answer *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(answer.Body, f.max+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer broke off: %w", err)
	case int64(len(raw)) > f.max:
		return nil, fmt.Errorf("over max_bytes = %d", f.max)
	}
	return raw, nil
}
