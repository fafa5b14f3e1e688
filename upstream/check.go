package upstream

import (
	"fmt"
	"maps"
	"net"
	"net/textproto"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	serverName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	toolPattern  = regexp.MustCompile(`^[A-Za-z0-9_.*-]{1,128}$`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	variableName = regexp.MustCompile(`^[^=\x00]{1,256}$`)
)

// longestTimeout bounds all three, so that nothing waits for good.
const longestTimeout = 24 * time.Hour

// wrong is the error of a field.
func wrong(field, format string, args ...any) error {
	return fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...))
}

// check returns the URL, nil for a command.
func (c *Config) check() (*url.URL, error) {
	switch {
	case !serverName.MatchString(c.Name) || strings.Trim(c.Name, "_") != c.Name || strings.Contains(c.Name, "__"):
		return nil, wrong("Name", "1 to 64 of A-Z, a-z, 0-9, _ and -, with no _ at either end and no two in a row")
	case len(c.Command) > 0 && c.URL != "":
		return nil, wrong("Command and URL", "only one of the two can be")
	case len(c.Command) == 0 && c.URL == "":
		return nil, wrong("Command and URL", "one of the two is needed")
	}
	if err := c.checkCommon(); err != nil {
		return nil, err
	}
	if c.URL != "" {
		return c.checkURL()
	}
	return nil, c.checkCommand()
}

func (c *Config) checkCommon() error {
	if c.Tools != nil && len(c.Tools) == 0 {
		return wrong("Tools", "an empty list offers nothing; leave it out to offer all")
	}
	for _, pattern := range c.Tools {
		if !toolPattern.MatchString(pattern) {
			return wrong("Tools", "%q is no name of a tool: 1 to 128 of A-Z, a-z, 0-9, _, . and -, and * for any run of them", clip(pattern, 128))
		}
	}
	for name, d := range map[string]time.Duration{"Timeout": c.Timeout, "StartTimeout": c.StartTimeout, "IdleTimeout": c.IdleTimeout} {
		if d < 0 || d > longestTimeout {
			return wrong(name, "%v; it is between 0 (the default) and %v", d, longestTimeout)
		}
	}
	if slices.ContainsFunc(c.Secrets, func(s Source) bool { return s == nil }) {
		return wrong("Secrets", "one has no source")
	}
	return nil
}

func (c *Config) checkCommand() error {
	switch {
	case len(c.Headers) > 0:
		return wrong("Headers", "a command has none; they are for a URL")
	case !filepath.IsAbs(c.Command[0]):
		return wrong("Command", "%q is no absolute path of a program", c.Command[0])
	case slices.ContainsFunc(c.Command, func(arg string) bool { return strings.Contains(arg, "\x00") }):
		return wrong("Command", "an argument holds a zero byte")
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return wrong("Dir", "%q is no absolute path of a folder; leave it out for a private empty one", c.Dir)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch {
		case !variableName.MatchString(name):
			return wrong("Env", "%q is no name of a variable: 1 to 256 characters without =", clip(name, 256))
		case strings.HasPrefix(variable(name), "GATEHOUSE_"):
			return wrong("Env", "%s: names that begin with GATEHOUSE_ are Gatehouse's own; choose another", name)
		case c.Env[name] == nil:
			return wrong("Env", "%s has no source", name)
		}
	}
	return nil
}

// ownHeaders are set by the protocol.
var ownHeaders = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func (c *Config) checkURL() (*url.URL, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, wrong("URL", "it cannot be read as one") // the error would hold it, and what is secret in it
	case u.User != nil:
		return nil, wrong("URL", "a name or a password stands in it; use a header")
	case u.Host == "" || u.Hostname() == "":
		return nil, wrong("URL", "it names no host")
	case u.Fragment != "":
		return nil, wrong("URL", "what follows # is never sent; leave it out")
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())):
		return nil, wrong("URL", "%s://%s; it is https, or http to a loopback address", u.Scheme, u.Host)
	case len(c.Env) > 0:
		return nil, wrong("Env", "a URL has none; it is for a command")
	case c.Dir != "":
		return nil, wrong("Dir", "a URL has none; it is for a command")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !headerName.MatchString(name):
			return nil, wrong("Headers", "%q is no name of a header", clip(name, 128))
		case slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "Mcp-"):
			return nil, wrong("Headers", "%s is set by the protocol", key)
		case c.Headers[name] == nil:
			return nil, wrong("Headers", "%s has no source", name)
		}
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// queryOf is what may be secret in a URL.
func queryOf(u *url.URL) (list []Secret) {
	if u.RawQuery == "" {
		return nil
	}
	list = append(list, Secret(u.RawQuery))
	for _, values := range u.Query() {
		for _, v := range values {
			list = append(list, Secret(v))
		}
	}
	return list
}

// withDefaults returns a copy that nobody else can change.
func (c Config) withDefaults() Config {
	c.Command, c.Tools, c.Secrets = slices.Clone(c.Command), slices.Clone(c.Tools), slices.Clone(c.Secrets)
	c.Env, c.Headers = maps.Clone(c.Env), maps.Clone(c.Headers)
	for d, standard := range map[*time.Duration]time.Duration{&c.Timeout: DefaultTimeout, &c.StartTimeout: DefaultStartTimeout, &c.IdleTimeout: DefaultIdleTimeout} {
		if *d == 0 {
			*d = standard
		}
	}
	return c
}

// offers reports whether the configuration lets a tool through.
func (s *Server) offers(tool string) bool {
	return s.c.Tools == nil || slices.ContainsFunc(s.c.Tools, func(pattern string) bool { return matches(pattern, tool) })
}
