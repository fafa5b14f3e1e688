package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// noticePlugin is the type of notices to sessions; docs/events.md describes them.
const noticePlugin = "plugin"

// maxPluginNews waits to be told; with more, the newest is only logged as lost.
const maxPluginNews = 256

// pluginNews writes down what changes of plugins, and tells sessions. Whoever has
// news may hold locks of a session, so a goroutine of its own does it.
type pluginNews struct {
	cover  event.Redactor
	state  *state
	logger *slog.Logger
	queue  chan plugins.News
	quit   chan struct{}
	once   sync.Once
	done   chan struct{}

	mu   sync.Mutex
	to   announcer       // nil: there is no session yet
	down map[string]bool // plugins that are not healthy
}

func newPluginNews(cover event.Redactor, st *state, logger *slog.Logger) *pluginNews {
	n := &pluginNews{
		cover: cover, state: st, logger: logger, down: map[string]bool{},
		queue: make(chan plugins.News, maxPluginNews), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go n.run() // ends with close
	return n
}

// tell takes news and never blocks.
func (n *pluginNews) tell(news plugins.News) {
	select {
	case <-n.quit:
	case n.queue <- news:
	default:
		n.logger.Error("plugins: news was lost", "plugin", news.Plugin.Name, "news", string(news.Kind))
	}
}

// announceTo has sessions be told from now on.
func (n *pluginNews) announceTo(to announcer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to = to
}

// close ends the telling, after what is in the queue.
func (n *pluginNews) close() {
	n.once.Do(func() { close(n.quit) })
	<-n.done
}

func (n *pluginNews) run() {
	defer close(n.done)
	for {
		select {
		case news := <-n.queue:
			n.took(news)
		case <-n.quit:
			for {
				select {
				case news := <-n.queue:
					n.took(news)
				default:
					return
				}
			}
		}
	}
}

// took tells one change: the log, the audit log and, but for the start, sessions.
func (n *pluginNews) took(news plugins.News) {
	p := news.Plugin
	attributes := []any{"plugin", p.Name, "change", string(news.Kind), "sha256", p.SHA256}
	switch news.Kind {
	case plugins.Unhealthy:
		n.logger.Error("plugin", append(attributes, "error", news.Error, "on_error", string(p.OnError))...)
	case plugins.Loaded:
		n.logger.Info("plugin", append(attributes, "hooks", hookWords(p.Hooks), "compiled_ms", p.Compiled.Milliseconds())...)
	default:
		n.logger.Info("plugin", attributes...)
	}
	n.record(news)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down[p.Name] = news.Kind == plugins.Unhealthy; !n.down[p.Name] {
		delete(n.down, p.Name)
	}
	if n.to != nil {
		n.to.Announce(n.announcement(news))
	}
}

// announcement stands as long as some plugin is not healthy.
func (n *pluginNews) announcement(news plugins.News) engine.Announcement {
	p := news.Plugin
	message := fmt.Sprintf("plugin %q ", p.Name)
	more := map[string]any{"plugin": p.Name, "change": string(news.Kind), "sha256": p.SHA256}
	switch news.Kind {
	case plugins.Unhealthy:
		message += fmt.Sprintf("failed %d times in a row and is called less often until it works; on_error = %q holds meanwhile: %s",
			plugins.UnhealthyAfter, p.OnError, clippedText(escapeControl(news.Error)))
		more["onError"] = string(p.OnError)
	case plugins.Healthy:
		message += "works again"
	case plugins.Unloaded:
		message += "was removed"
	default:
		message += fmt.Sprintf("is in force, sha256 %.12s", p.SHA256)
	}
	if others := n.others(p.Name); others != "" {
		message += "; not healthy: " + others
	}
	return engine.Announcement{Type: noticePlugin, Message: message, More: more, Standing: len(n.down) > 0}
}

// others are the plugins that are not healthy, but for one.
func (n *pluginNews) others(but string) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(n.down)), func(name string) bool { return name == but })
	return strings.Join(names, ", ")
}

// pluginDetail is the detail of records of plugins.
type pluginDetail struct {
	Plugin  string         `json:"plugin"`
	Change  string         `json:"change"` // of package plugins: loaded, unloaded, unhealthy, healthy
	SHA256  string         `json:"sha256"`
	Pinned  bool           `json:"pinned"`
	Path    string         `json:"path"`
	Hooks   []plugins.Hook `json:"hooks"`
	Binding string         `json:"binding"`
	OnError string         `json:"on_error"`
	Error   string         `json:"error,omitempty"`
}

// record notes a change in the audit log. Decisions name the plugins they heard by
// digest, so none waits for this.
func (n *pluginNews) record(news plugins.News) {
	if n.state == nil || n.state.audit == nil {
		return
	}
	kind, p := audit.PluginLoad, news.Plugin
	if news.Kind == plugins.Unhealthy || news.Kind == plugins.Healthy {
		kind = audit.PluginState
	}
	given, err := json.Marshal(pluginDetail{
		Plugin: p.Name, Change: string(news.Kind), SHA256: p.SHA256, Pinned: p.Pinned, Path: p.Path, Hooks: p.Hooks,
		Binding: string(p.Binding), OnError: string(p.OnError), Error: clippedText(news.Error),
	})
	detail, _, covered := event.Redact(context.Background(), []event.Redactor{n.cover}, event.Payload{Sink: event.SinkAudit, Kind: event.Notice, Data: given})
	if err != nil || !covered {
		detail = json.RawMessage(`{"plugin":"` + p.Name + `","error":"[withheld]"}`)
	}
	n.state.audit.Note(audit.Record{Kind: kind, Detail: detail})
}

// clippedText bounds a text that is told.
func clippedText(text string) string {
	if len(text) > maxTold {
		return strings.ToValidUTF8(text[:maxTold], "") + "…"
	}
	return text
}
