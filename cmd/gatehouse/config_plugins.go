package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginConfig is one [[plugin]].
type pluginConfig struct {
	Name          string         `toml:"name"`
	Path          string         `toml:"path"`
	SHA256        string         `toml:"sha256"`
	AllowUnpinned bool           `toml:"allow_unpinned"`
	Hooks         []string       `toml:"hooks"`
	Order         int            `toml:"order"`
	Binding       string         `toml:"binding"`
	OnError       string         `toml:"on_error"`
	Timeout       string         `toml:"timeout"`
	ToolTimeout   string         `toml:"tool_timeout"`
	Memory        string         `toml:"memory"`
	State         string         `toml:"state"`
	KV            bool           `toml:"kv"`
	Redacted      bool           `toml:"redacted"`
	Data          []string       `toml:"data"`
	Events        []string       `toml:"events"`
	Config        map[string]any `toml:"config"` // any keys: the plugin's own
}

// pluginsConfig is what all plugins share.
type pluginsConfig struct {
	Cache string `toml:"cache"` // folder of compiled modules; empty: none are kept
}

const (
	pluginKey = "plugin"
	cacheKey  = "plugins.cache"
)

// Bounds of [[plugin]] that package plugins does not name.
const (
	minPluginTimeout = time.Millisecond
	minPluginMemory  = 64 << 10 // one page
	maxPluginOrder   = 1000     // and its negative
	maxPluginData    = 64       // paths
	maxPluginDepth   = 64       // of config
	dropsPayload     = "drop"   // on_error of plugins with edits alone: another word for deny
	stateCall        = "call"
	stateInstance    = "instance"
)

// pluginSettings are the plugins after they were checked.
type pluginSettings struct {
	list  []plugins.Config
	at    map[string]string // file:line of each, by name
	files []string          // as named and, where links lead elsewhere, as found
	cache string            // empty: none
}

// placePlugins notes where the plugins of the file just read stand, and makes
// their paths absolute.
func (l *loaded) placePlugins(folder string, at places) {
	l.pluginsAt = append(l.pluginsAt, at.elements(pluginKey, len(l.Plugin))...)
	for i := range l.Plugin {
		p := &l.Plugin[i]
		if p.Path != "" {
			p.Path = below(folder, []string{p.Path})[0]
		}
		l.pluginFolders = append(l.pluginFolders, folder)
	}
	if _, ok := at[cacheKey]; ok && l.Plugins.Cache != "" {
		l.Plugins.Cache = below(folder, []string{l.Plugins.Cache})[0]
	}
}

// plugins checks [[plugin]] and [plugins].
func (c *checker) plugins(roots []string) pluginSettings {
	s := pluginSettings{at: map[string]string{}}
	if n := len(c.l.Plugin); n > plugins.MaxPlugins {
		c.failAt(c.l.pluginsAt[plugins.MaxPlugins], pluginKey, "%d plugins are too many, want at most %d", n, plugins.MaxPlugins)
		return s
	}
	for i, p := range c.l.Plugin {
		k := &pluginChecker{checker: c, at: c.l.pluginsAt[i], p: p}
		s.list = append(s.list, k.config())
		s.files = union(s.files, k.file(c.l.pluginFolders[i], &s.list[i]))
		if other, taken := s.at[p.Name]; taken {
			k.wrong("%q is the name of the plugin at %s, too; give it another one", p.Name, other)
		}
		s.at[p.Name] = k.at
	}
	s.cache = c.pluginCache(roots)
	return s
}

// pluginCache is [plugins] cache. What is in it is run as native code, so no
// project holds it.
func (c *checker) pluginCache(roots []string) string {
	if c.l.Plugins.Cache == "" {
		return ""
	}
	dir := c.placed(cacheKey, c.l.Plugins.Cache, "", "")
	dir = filepath.Join(linksResolved(filepath.Dir(dir)), filepath.Base(dir)) // a link in its own place is refused later
	for _, root := range roots {
		if inside(dir, root) || inside(root, dir) {
			c.fail(cacheKey, "%s and the root %s lie in each other; what is kept there is run as native code, so it belongs outside of projects", dir, root)
		}
	}
	return dir
}

// linksResolved is path with links resolved, as far as it is there.
func linksResolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	return filepath.Join(linksResolved(above), filepath.Base(path))
}

// pluginWarnings are what check and the log of the server tell.
func (s *settings) pluginWarnings() (all []string) {
	for _, p := range s.plugins.list {
		for _, w := range []struct {
			holds bool
			text  string
		}{
			{p.SHA256 == "", "it is not pinned: whoever can write its file decides what it does"},
			{p.Reuse, `state = "instance": calls of different sessions share its memory`},
			{p.OnError == plugins.ErrorSkips, `on_error = "skip": what it would have refused or covered passes when it fails, unless a policy looks at input.plugins.` + p.Name + `.error`},
		} {
			if w.holds {
				all = append(all, fmt.Sprintf("plugin %q: %s", p.Name, w.text))
			}
		}
	}
	if s.plugins.cache != "" && len(s.plugins.list) > 0 {
		all = append(all, "plugins.cache: "+s.plugins.cache+" holds native code that is run as it is; keep it your own")
	}
	return all
}
