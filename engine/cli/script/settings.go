package script

import (
	"path"
	"reflect"
	"strings"
)

// effective merges the settings of the command line as get_settings shows them.
func effective(sc Scenario, o options) map[string]any {
	merged := map[string]any{}
	user, _ := o.settings("--settings") // both were checked at start
	managed, _ := o.settings("--managed-settings")
	delete(managed, "disableAllHooks") // not among the restrictive keys that pass
	mergeInto(merged, user)
	mergeInto(merged, managed)
	mergeInto(merged, sc.ExtraSettings)
	if d := sc.SettingsDropped; d != nil && (!d.UnlessIsolated || !o.isolated()) {
		keys := d.Keys
		if len(keys) == 0 {
			keys = []string{"permissions.ask", "allowManagedHooksOnly"}
		}
		for _, k := range keys {
			dropKey(merged, strings.Split(k, "."))
		}
	}
	return merged
}

func mergeInto(dst, src map[string]any) {
	for k, v := range src {
		switch v := v.(type) {
		case map[string]any:
			inner, _ := dst[k].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			mergeInto(inner, v)
			dst[k] = inner
		case []any:
			old, _ := dst[k].([]any)
			dst[k] = union(old, v)
		default:
			dst[k] = v
		}
	}
}

func union(a, b []any) []any {
	all := append([]any{}, a...)
next:
	for _, v := range b {
		for _, have := range all {
			if reflect.DeepEqual(v, have) {
				continue next
			}
		}
		all = append(all, v)
	}
	return all
}

func dropKey(m map[string]any, keys []string) {
	if len(keys) == 1 {
		delete(m, keys[0])
		return
	}
	if inner, ok := m[keys[0]].(map[string]any); ok {
		dropKey(inner, keys[1:])
	}
}

// matchRule reports whether a permission rule ("*", "Bash", "Bash(rm *)",
// "Read(//etc/*)") covers a call. It is a simplification of the CLI's matcher:
// commands match as globs over the whole line, paths as globs or suffixes.
func matchRule(rule, tool string, input map[string]any) bool {
	name, scope, scoped := strings.Cut(rule, "(")
	if name != "*" && name != tool && !matchServer(name, tool) {
		return false
	}
	if !scoped {
		return true
	}
	scope = strings.TrimSuffix(scope, ")")
	if command, ok := input["command"].(string); ok {
		return matchCommand(scope, command)
	}
	for _, key := range []string{"file_path", "path", "notebook_path"} {
		if p, ok := input[key].(string); ok {
			return matchPath(scope, p)
		}
	}
	return false
}

// matchServer is for rules that name all tools of an MCP server.
func matchServer(rule, tool string) bool {
	server := strings.TrimSuffix(strings.TrimSuffix(rule, "*"), "__")
	return strings.Count(server, "__") == 1 && strings.HasPrefix(tool, server+"__") && strings.HasPrefix(server, "mcp__")
}

func matchCommand(scope, command string) bool {
	prefix, open := strings.CutSuffix(scope, "*")
	if !open {
		return command == scope
	}
	prefix = strings.TrimSuffix(prefix, ":")
	return strings.HasPrefix(command+" ", prefix)
}

func matchPath(scope, p string) bool {
	if suffix, anywhere := strings.CutPrefix(scope, "**/"); anywhere {
		ok, _ := path.Match(suffix, path.Base(p))
		return ok || strings.HasSuffix(p, "/"+suffix)
	}
	scope = "/" + strings.TrimLeft(scope, "/")
	if dir, deep := strings.CutSuffix(scope, "/**"); deep {
		return strings.HasPrefix(p, dir+"/")
	}
	ok, _ := path.Match(scope, p)
	return ok
}

// readOnlyTools run unasked in the default mode when nothing forces a question.
var readOnlyTools = map[string]bool{
	"Read": true, "Glob": true, "Grep": true, "Agent": true, "Skill": true, "TaskCreate": true, "TaskList": true,
	"TaskGet": true, "CronList": true, "SendMessage": true, "EnterPlanMode": true, "StructuredOutput": true,
}

// readOnlyCommands are first words of shell lines the CLI calls harmless.
var readOnlyCommands = map[string]bool{
	"ls": true, "echo": true, "cat": true, "pwd": true, "sleep": true, "true": true, "head": true, "wc": true,
}

func readOnly(tool string, input map[string]any) bool {
	if tool != "Bash" {
		return readOnlyTools[tool]
	}
	line, _ := input["command"].(string)
	if strings.ContainsAny(line, "><|&`$") {
		return false
	}
	for _, command := range strings.Split(line, ";") {
		words := strings.Fields(command)
		if len(words) == 0 || !readOnlyCommands[words[0]] {
			return false
		}
	}
	return true
}
