package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// free is [plugin.config] as JSON.
func (k *pluginChecker) free() json.RawMessage {
	if k.p.Config == nil {
		return nil
	}
	if err := asJSONValue(k.p.Config, "config", 0); err != nil {
		k.wrong("%q: %v", k.p.Name, err)
		return nil
	}
	out, err := json.Marshal(k.p.Config)
	if err != nil {
		k.wrong("%q: config: %v", k.p.Name, err)
	}
	return out
}

// asJSONValue refuses what JSON has no value for.
func asJSONValue(value any, at string, depth int) error {
	if depth > maxPluginDepth {
		return fmt.Errorf("%s is more than %d tables and arrays deep", at, maxPluginDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := asJSONValue(v[key], at+"."+key, depth+1); err != nil {
				return err
			}
		}
	case []map[string]any:
		for i, inner := range v {
			if err := asJSONValue(inner, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range v {
			if err := asJSONValue(inner, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s = %v is no number of JSON", at, v)
		}
	case time.Time:
		return fmt.Errorf("%s is a date or time, which JSON does not have; put it in quotes", at)
	}
	return nil
}

// file finds the module: there, nobody else's to change, and not by a link that
// leads out of the folder it is looked for in. It returns what no session may write.
func (k *pluginChecker) file(folder string, to *plugins.Config) []string {
	if k.p.Path == "" {
		k.wrong(`%q: path is missing; want path = "….wasm"`, k.p.Name)
		return nil
	}
	path := filepath.Clean(k.env.expand(k.p.Path))
	if !filepath.IsAbs(path) {
		k.wrong("%q: path %q must be absolute, begin with ~/ or be relative to this file", k.p.Name, k.p.Path)
		return nil
	}
	real, err := k.resolve(folder, path)
	if err == nil {
		err = checkOwner(real)
	}
	if err != nil {
		k.wrong("%q: path: %v", k.p.Name, err)
		return nil
	}
	to.Path = real
	return union([]string{path}, []string{real})
}

// resolve follows links. The tree they stay in is that of the configuration file
// where the path lies in it, else the folder of the module.
func (k *pluginChecker) resolve(folder, path string) (string, error) {
	tree := filepath.Dir(path)
	if inside(path, folder) {
		tree = folder
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	realTree, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return "", err
	}
	if !inside(real, realTree) {
		return "", fmt.Errorf("%s is a link that leads out of %s, to %s; name that file itself", path, tree, real)
	}
	return real, nil
}
