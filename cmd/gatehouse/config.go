package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
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
	Redaction redactionConfig `toml:"redaction"`
	Plugin    []pluginConfig  `toml:"plugin"`
	Plugins   pluginsConfig   `toml:"plugins"`
	Lock      lockConfig      `toml:"lock"`

	Tools       toolsConfig       `toml:"tools"`
	MPM         mpmConfig         `toml:"mpm"`
	MCPServer   []mcpServerConfig `toml:"mcp_server"`
	DecisionLog decisionLogConfig `toml:"decision_log"`
	Store       storeConfig       `toml:"store"`
	Audit       auditConfig       `toml:"audit"`
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

	Bundle bundleConfig `toml:"bundle"`
}

// bundleConfig names a signed bundle; without url and file there is none.
type bundleConfig struct {
	URL       string `toml:"url"`
	File      string `toml:"file"`
	Key       string `toml:"key"`
	KeyID     string `toml:"key_id"`
	Algorithm string `toml:"algorithm"`
	Scope     string `toml:"scope"`
	Interval  string `toml:"interval"`
	MaxBytes  int    `toml:"max_bytes"`
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
	MaxQuestions  int    `toml:"max_questions"`
	MaxDenials    int    `toml:"max_denials"`
}

type approvalsConfig struct {
	Timeout string `toml:"timeout"`
}

// decisionLogConfig says where decisions are written down.
type decisionLogConfig struct {
	Folder       string `toml:"folder"` // empty: below the state folder; "off": none
	MaxMegabytes int    `toml:"max_megabytes"`
	MaxDays      int    `toml:"max_days"`
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
		Policy: policyConfig{DefaultEffect: "ask", Bundle: bundleConfig{
			Algorithm: bundle.DefaultAlgorithm, Interval: "60s", MaxBytes: bundle.DefaultMaxBytes,
		}},
		Limits: limitsConfig{
			MaxConcurrent: 5, TurnTimeout: "4h", IdleTTL: "30m", WarmTTL: "30s", ResumeTTL: "720h", MaxPending: 64, MaxQuestions: 30, MaxDenials: 20,
		},
		Approvals: approvalsConfig{Timeout: "60s"},
		Redaction: redactionConfig{Filter: true, OnExposed: exposedReport},

		Tools:       defaultTools(),
		DecisionLog: decisionLogConfig{MaxMegabytes: 64, MaxDays: 30},
		Store:       defaultStore(),
		Audit:       defaultAudit(),
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
	tomlBoolean = "a boolean"
	tomlStrings = "an array of strings"
	tomlTable   = "a table"
	tomlTables  = "an array of tables"
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
			if element := field.Type.Elem(); element.Kind() == reflect.Struct {
				known[key] = tomlTables
				collectKeys(element, key+".", known)
			}
		case reflect.Map: // see freeTable
			known[key] = tomlTable
		case reflect.Int:
			known[key] = tomlInteger
		case reflect.Bool:
			known[key] = tomlBoolean
		default:
			known[key] = tomlString
		}
	}
}

// freeTables are those whose keys are somebody else's: plugins and MCP servers name
// them.
var freeTables = []string{pluginKey + ".config.", mcpServerKey + ".env.", mcpServerKey + ".headers."}

func freeTable(key string) bool {
	return slices.ContainsFunc(freeTables, func(table string) bool { return strings.HasPrefix(key, table) })
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
