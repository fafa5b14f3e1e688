package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginHost is the plugins in force, and what tells of them. The nil pluginHost
// is that of a configuration without plugins: nothing is made for it.
type pluginHost struct {
	*plugins.Host
	news   *pluginNews
	tools  *pluginTools
	logger *slog.Logger
}

// pluginsError is one of [[plugin]] rather than of policies.
type pluginsError struct{ err error }

func (e *pluginsError) Error() string { return e.err.Error() }
func (e *pluginsError) Unwrap() error { return e.err }

// openPlugins loads the plugins of s; nil where there are none. An error names the
// place of each [[plugin]] that is wrong.
func openPlugins(ctx context.Context, s *settings, cover event.Redactor, data func() map[string]any, st *state, logger *slog.Logger) (*pluginHost, error) {
	if len(s.plugins.list) == 0 {
		return nil, nil
	}
	news := newPluginNews(cover, st, logger)
	host, err := plugins.Load(ctx, plugins.Options{
		Plugins: s.plugins.list, Cover: cover, Data: data, CacheDir: s.plugins.cache, Told: news.tell, Logger: logger,
	})
	if err != nil {
		news.close()
		return nil, s.plugins.located(err)
	}
	p := &pluginHost{Host: host, news: news, tools: newPluginTools(host, logger), logger: logger}
	if err := p.tools.replace(host, s.offers); err != nil {
		p.close(logger)
		return nil, s.plugins.located(err)
	}
	return p, nil
}

// located puts the place of its [[plugin]] before each line of an error.
func (s *pluginSettings) located(err error) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, `plugin "`)
		name, _, more := strings.Cut(rest, `"`)
		if at := s.at[name]; ok && more && at != "" {
			lines[i] = at + ": " + line
		}
	}
	return &pluginsError{errors.New(strings.Join(lines, "\n"))}
}

// reload puts the plugins of s in force, or changes nothing.
func (p *pluginHost) reload(ctx context.Context, s *settings) error {
	if p == nil {
		return nil
	}
	if err := p.Reload(ctx, s.plugins.list); err != nil {
		return s.plugins.located(err)
	}
	if err := p.tools.replace(p.Host, s.offers); err != nil { // all else of them is in force
		p.logger.Error("plugins: sessions are not offered all tools", "error", s.plugins.located(err))
	}
	return nil
}

// with puts the plugins into an engine's options, behind the policies' redactor.
func (p *pluginHost) with(o engine.Options) engine.Options {
	if p == nil {
		return o
	}
	o.Annotators = []permission.Annotator{p.Host}
	o.AdmissionAnnotators = []admission.Annotator{p.Host}
	o.Redactors = append(slices.Clone(o.Redactors), p.Host)
	o.Observers = []event.Observer{p.Host}
	o.OutputPlugin = p.SeesOutput
	o.PluginServers = p.tools.servers
	return o
}

// cover is first and then the plugins, as one redactor.
func (p *pluginHost) cover(first event.Redactor) event.Redactor {
	if p == nil {
		return first
	}
	return redactors{first, p.Host}
}

// redactors run one after the other.
type redactors []event.Redactor

// Redact implements [event.Redactor].
func (r redactors) Redact(ctx context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	data, found, ok := event.Redact(ctx, r, p)
	if !ok {
		return nil, nil, errors.New("a redactor failed; the log says which")
	}
	return data, found, nil
}

// announceTo has sessions be told of changes.
func (p *pluginHost) announceTo(to announcer) {
	if p != nil {
		p.news.announceTo(to)
	}
}

// pluginTime bounds the end of plugins, whose calls have ended with the engine.
const pluginTime = time.Second / 2

// closeAfter is close after the decision log was closed: plugins cover its last
// entries, too.
func (p *pluginHost) closeAfter(closeLog func(), logger *slog.Logger) {
	closeLog()
	p.close(logger)
}

// close frees the plugins, after the engine has closed and before the state.
func (p *pluginHost) close(logger *slog.Logger) {
	if p == nil {
		return
	}
	p.news.close() // that they go with the program is no news
	ctx, cancel := context.WithTimeout(context.Background(), pluginTime)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		logger.Warn("plugins", "error", err)
	}
}

// hookWords are the hooks a plugin is called at, as people read them.
func hookWords(hooks []plugins.Hook) string {
	if len(hooks) == 0 {
		return "no hook"
	}
	return fmt.Sprint(hookNames(hooks))
}
