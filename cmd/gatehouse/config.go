package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
)

// fileConfig is a configuration file as written; docs/configuration.md
// describes every key. Durations stay text until the whole file is checked.
type fileConfig struct {
	Profile   string          `toml:"profile"`
	CLI       cliConfig       `toml:"cli"`
	Workspace workspaceConfig `toml:"workspace"`
	Policy    policyConfig    `toml:"policy"`
	Grants    grantsConfig    `toml:"grants"`
	Limits    limitsConfig    `toml:"limits"`
	Approvals approvalsConfig `toml:"approvals"`
	Lock      lockConfig      `toml:"lock"`
}

type cliConfig struct {
	Executable string   `toml:"executable"`
	MinVersion string   `toml:"min_version"`
	Args       []string `toml:"args"`
}

type workspaceConfig struct {
	Roots            []string `toml:"roots"`
	Trusted          []string `toml:"trusted"`
	OnUnsafeSettings string   `toml:"on_unsafe_settings"`
}

type policyConfig struct {
	Paths         []string `toml:"paths"`
	Data          []string `toml:"data"`
	DefaultEffect string   `toml:"default_effect"`
}

type grantsConfig struct {
	Parameters []string `toml:"parameters"`
}

type limitsConfig struct {
	MaxConcurrent int    `toml:"max_concurrent"`
	TurnTimeout   string `toml:"turn_timeout"`
	IdleTTL       string `toml:"idle_ttl"`
	WarmTTL       string `toml:"warm_ttl"`
	ResumeTTL     string `toml:"resume_ttl"`
	MaxPending    int    `toml:"max_pending"`
	MaxDenials    int    `toml:"max_denials"`
}

type approvalsConfig struct {
	Timeout string `toml:"timeout"`
}

// lockConfig is the organisation's word on what nobody may override.
type lockConfig struct {
	Keys []string `toml:"keys"`
}

func defaultConfig() fileConfig {
	return fileConfig{
		Profile:   "dev",
		CLI:       cliConfig{Executable: "claude", MinVersion: "2.1.197"},
		Workspace: workspaceConfig{OnUnsafeSettings: "isolate"},
		Policy:    policyConfig{DefaultEffect: "ask"},
		Limits: limitsConfig{
			MaxConcurrent: 5, TurnTimeout: "4h", IdleTTL: "30m", WarmTTL: "30s", ResumeTTL: "720h", MaxPending: 64, MaxDenials: 20,
		},
		Approvals: approvalsConfig{Timeout: "60s"},
	}
}

// knownKeys maps every dotted key of the schema to the TOML type it wants.
var knownKeys = func() map[string]string {
	known := map[string]string{}
	collectKeys(reflect.TypeFor[fileConfig](), "", known)
	return known
}()

// The types, as error messages name them.
const (
	tomlString  = "a string"
	tomlInteger = "an integer"
	tomlStrings = "an array of strings"
	tomlTable   = "a table"
)

func collectKeys(t reflect.Type, prefix string, known map[string]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		key := prefix + field.Tag.Get("toml")
		switch field.Type.Kind() {
		case reflect.Struct:
			known[key] = tomlTable
			collectKeys(field.Type, key+".", known)
		case reflect.Slice:
			known[key] = tomlStrings
		case reflect.Int:
			known[key] = tomlInteger
		default:
			known[key] = tomlString
		}
	}
}

// nearestKey returns the known key that takes the fewest edits from key. A
// known key with the same last word counts as one edit away.
func nearestKey(key string) string {
	var best string
	bestCost := -1
	keys := make([]string, 0, len(knownKeys))
	for k := range knownKeys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		cost := spelling.Distance(key, k)
		if lastWord(k) == lastWord(key) {
			cost = min(cost, 1)
		}
		if bestCost < 0 || cost < bestCost {
			best, bestCost = k, cost
		}
	}
	return best
}

func lastWord(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
