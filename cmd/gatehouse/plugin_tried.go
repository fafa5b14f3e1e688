package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/plugins"
	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// triedPlugin is one module on its own, without a configuration file.
type triedPlugin struct {
	config   plugins.Config
	data     map[string]any
	bytes    int
	prepared module.Prepared
	host     *plugins.Host
	took     time.Duration // to read, compile and start it
}

// tryPlugin reads a module and what the flags say of it. It is not loaded yet.
func tryPlugin(file string, o *pluginFlags) (*triedPlugin, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	wasm, err := regular.Read(path, plugins.MaxModule)
	if err != nil {
		return nil, err
	}
	t := &triedPlugin{bytes: len(wasm)}
	k := &pluginChecker{checker: &checker{l: &loaded{}}, at: file, p: pluginConfig{Name: nameOf(file), Memory: o.memory, Timeout: o.timeout, ToolTimeout: o.timeout}}
	t.config = plugins.Config{
		Name: k.p.Name, Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(wasm)), KV: o.kv,
		Memory: k.memory(), Timeout: k.time("timeout", o.timeout, plugins.DefaultTimeout, plugins.MaxTimeout),
		ToolTimeout: k.time("timeout", o.timeout, plugins.DefaultToolTimeout, plugins.MaxToolTimeout),
	}
	if k.err != nil {
		return nil, k.err
	}
	if err := t.documents(o); err != nil {
		return nil, err
	}
	t.prepared, err = module.Prepare(wasm)
	if err != nil {
		return t, fmt.Errorf("plugin %q: %w", t.config.Name, err)
	}
	return t, nil
}

// documents reads --config and --data.
func (t *triedPlugin) documents(o *pluginFlags) error {
	config, err := objectOrFile(o.config)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if config != nil {
		if t.config.Config, err = json.Marshal(config); err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	if o.data == "" {
		return nil
	}
	if t.data, err = readDocumentFile(o.data); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	t.config.Data = slices.Sorted(maps.Keys(t.data))
	return nil
}

// objectOrFile reads a JSON object, or the file of that name. Nothing is nil.
func objectOrFile(given string) (map[string]any, error) {
	switch {
	case given == "":
		return nil, nil
	case strings.HasPrefix(strings.TrimSpace(given), "{"):
		return parseDocument("JSON", given)
	}
	return readDocumentFile(given)
}

func readDocumentFile(path string) (map[string]any, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return parseDocument(path, text)
}

// load makes the host. Whoever calls it closes t.
func (t *triedPlugin) load(ctx context.Context, logger *slog.Logger) (err error) {
	logger, hush := hushing(logger)
	defer hush()
	begin := time.Now()
	t.host, err = plugins.Load(ctx, plugins.Options{
		Plugins: []plugins.Config{t.config}, Data: func() map[string]any { return t.data }, Trying: true, Logger: logger,
	})
	t.took = time.Since(begin)
	return err
}

// close frees the host. Its calls have ended.
func (t *triedPlugin) close() {
	if t.host == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pluginTime)
	defer cancel()
	_ = t.host.Close(ctx) // the command ends anyway
}

// imports reports whether the module imports a function of the plugins' interface.
func (t *triedPlugin) imports(name string) bool {
	return slices.ContainsFunc(t.prepared.Imports, func(i module.Import) bool { return i.Module == plugins.ABI && i.Name == name })
}

var notInName = regexp.MustCompile(`[^a-z0-9_]+`)

// nameOf is the name a plugin gets from its file: no-force-push.wasm is
// no_force_push.
func nameOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "_"), "_")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "p_" + name
	}
	return name[:min(len(name), 32)]
}

// pluginOutcome is what one call gave, as the commands print it.
type pluginOutcome struct {
	Hook        plugins.Hook               `json:"hook"`
	OK          bool                       `json:"ok"`
	Error       string                     `json:"error,omitempty"`   // why it would not count; on_error applies then
	Verdict     string                     `json:"verdict,omitempty"` // pass, allow, deny or ask, of a hook that has verdicts
	Reason      string                     `json:"reason,omitempty"`
	Annotations map[string]json.RawMessage `json:"annotations,omitempty"`
	Output      json.RawMessage            `json:"output,omitempty"`
	Log         []string                   `json:"log,omitempty"`
	Micros      int64                      `json:"us"`
	Memory      int64                      `json:"memoryBytes,omitempty"`
}

// call calls one hook.
func (t *triedPlugin) call(ctx context.Context, hook plugins.Hook, document json.RawMessage) pluginOutcome {
	got, err := t.host.Try(ctx, t.config.Name, hook, document)
	out := pluginOutcome{
		Hook: hook, OK: err == nil, Reason: got.Reason, Annotations: got.Annotations, Output: got.Output, Log: got.Log,
		Micros: got.Took.Microseconds(), Memory: got.Memory,
	}
	if err != nil {
		out.Error = err.Error()
	} else if hook == plugins.PrePermission || hook == plugins.SessionAdmit {
		out.Verdict = verdictWord(got.Verdict)
	}
	return out
}

func verdictWord(e permission.Effect) string {
	if e == permission.Abstain {
		return "pass"
	}
	return e.String()
}

// maxOutcomeShown bounds an output or annotation shown to people, in characters.
const maxOutcomeShown = 400

// outcomeText shows an outcome to people.
func (c *command) outcomeText(o pluginOutcome) {
	if !o.OK {
		c.say("%s  %s  %s", c.mark(false), o.Hook, o.Error)
	} else {
		c.say("%s  %-14s %s", c.mark(true), o.Hook, strings.TrimSpace(fmt.Sprintf("%s  (%d µs, %s)  %s", orWord(o.Verdict, "done"), o.Micros, sizeText(o.Memory), o.Reason)))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		c.say("      %s = %s", key, shorten(string(o.Annotations[key]), maxOutcomeShown))
	}
	if o.Output != nil {
		c.say("      output %s", shorten(string(o.Output), maxOutcomeShown))
	}
	for _, line := range o.Log {
		c.say("      log %s", shorten(line, maxOutcomeShown))
	}
}

func orWord(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
