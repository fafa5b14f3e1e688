package plugins

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of the lists of a Config.
const (
	MaxData   = 64       // paths
	MaxConfig = 64 << 10 // bytes
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// Check says what is wrong with a plugin's settings, all of it, without a look at
// the file.
func (c Config) Check() error {
	_, err := c.checked()
	return err
}

// checked is the one place where defaults are filled in and bounds are held.
func (c Config) checked() (Config, error) {
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.ToolTimeout = orDefault(c.ToolTimeout, DefaultToolTimeout)
	c.Memory = orDefault(c.Memory, int64(DefaultMemory))
	c.Binding = orDefault(c.Binding, BindingDeny)
	c.OnError = orDefault(c.OnError, ErrorDenies)
	if c.Config == nil {
		c.Config = json.RawMessage("{}")
	}
	c.SHA256 = strings.ToLower(c.SHA256)
	var problems []error
	for _, err := range []error{
		c.checkFile(), c.checkHooks(), c.checkChoices(),
		between("timeout", c.Timeout, time.Millisecond, MaxTimeout),
		between("tool_timeout", c.ToolTimeout, time.Millisecond, MaxToolTimeout),
		c.checkMemory(), c.checkSeen(),
	} {
		if err != nil {
			problems = append(problems, fmt.Errorf("plugin %q: %w", c.Name, err))
		}
	}
	return c, errors.Join(problems...)
}

func orDefault[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

func (c Config) checkFile() error {
	switch {
	case !nameForm.MatchString(c.Name):
		return fmt.Errorf("name: want a letter a to z, then up to 31 of a to z, 0 to 9 and _")
	case !filepath.IsAbs(c.Path):
		return fmt.Errorf("path %q: want an absolute one", c.Path)
	case c.SHA256 == "" && !c.AllowUnpinned:
		return errors.New("sha256 is missing: pin the file, or set allow_unpinned = true")
	case c.SHA256 == "":
		return nil
	}
	if raw, err := hex.DecodeString(c.SHA256); err != nil || len(raw) != 32 {
		return fmt.Errorf("sha256 %q: want 64 hexadecimal digits", c.SHA256)
	}
	return nil
}

func (c Config) checkHooks() error {
	for i, h := range c.Hooks {
		if !slices.Contains(Hooks, h) {
			return fmt.Errorf("hooks: %q is unknown, there are %s", h, list(Hooks))
		}
		if slices.Contains(c.Hooks[:i], h) {
			return fmt.Errorf("hooks: %q is there twice", h)
		}
	}
	if c.Hooks != nil && slices.Contains(c.Hooks, ToolsList) != slices.Contains(c.Hooks, ToolsCall) {
		return fmt.Errorf("hooks: %s and %s come together", ToolsList, ToolsCall)
	}
	return nil
}

func (c Config) checkChoices() error {
	if c.Binding != BindingDeny && c.Binding != BindingNone {
		return fmt.Errorf("binding %q: want %q or %q", c.Binding, BindingDeny, BindingNone)
	}
	if c.OnError != ErrorDenies && c.OnError != ErrorAsks && c.OnError != ErrorSkips {
		return fmt.Errorf("on_error %q: want %q, %q or %q", c.OnError, ErrorDenies, ErrorAsks, ErrorSkips)
	}
	return nil
}

func between(name string, d, least, most time.Duration) error {
	if d < least || d > most {
		return fmt.Errorf("%s %v: want %v to %v", name, d, least, most)
	}
	return nil
}

func (c Config) checkMemory() error {
	if c.Memory < page || c.Memory > MaxMemory || c.Memory%page != 0 {
		return fmt.Errorf("memory of %d bytes: want whole pages of 64 KiB, at most %d MiB", c.Memory, MaxMemory>>20)
	}
	return nil
}

// checkSeen is about what it is shown.
func (c Config) checkSeen() error {
	if len(c.Data) > MaxData {
		return fmt.Errorf("data: %d paths, at most %d may be", len(c.Data), MaxData)
	}
	for _, path := range c.Data {
		if slices.Contains(strings.Split(path, "."), "") {
			return fmt.Errorf("data %q: want names with dots between them", path)
		}
	}
	if len(c.Config) > MaxConfig {
		return fmt.Errorf("config has %d bytes, at most %d may be", len(c.Config), MaxConfig)
	}
	if err := checkJSON(c.Config); err != nil {
		return fmt.Errorf("config %w", err)
	}
	if kind := rawjson.Kind(c.Config); kind != "an object" {
		return fmt.Errorf("config is %s, want an object", kind)
	}
	return nil
}

// list writes names for an error.
func list[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
