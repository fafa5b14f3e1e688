package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// maxTextShown bounds how much of a prompt policies see; its length and digest
// are of the whole.
const maxTextShown = 64 << 10

// requestReader takes typed values out of a caller's parameters and keeps the
// first error. What is absent or null is the zero value.
type requestReader struct {
	values map[string]any
	err    error
}

// describeRequest puts the caller's parameters into their typed form. A value
// of another type than the parameter has is refused: a rule would overlook it.
func (s *Set) describeRequest(in admissionInput, r admission.Request) (requestInput, error) {
	v := &requestReader{values: in.Parameters}
	out := requestInput{
		Cwd: r.Cwd, Dirs: s.furtherDirs(r), Model: v.text("model"), FallbackModel: v.text("fallbackModel"),
		PermissionMode: v.text("permissionMode"), AllowedTools: v.texts("allowedTools"), DisallowedTools: v.texts("disallowedTools"),
		McpServers: v.servers(), Env: v.variables(), MaxTurns: v.count("maxTurns"), MaxUSD: v.number("maxBudgetUsd"),
		TimeoutS: v.timeout(), SettingSources: v.texts("settingSources"),
		Sandbox: v.object("sandbox"), Agents: slices.Sorted(maps.Keys(v.object("agents"))),
		SystemPrompt: v.systemPrompt(), Prompt: v.prompt(), Executable: executableOf(v.text("pathToClaudeCodeExecutable"), r),
	}
	if _, preset := v.values["tools"].(map[string]any); !preset { // the preset is the CLI's default set
		out.Tools = v.texts("tools")
	}
	return out, v.err
}

func (v *requestReader) fail(name, want string) {
	if v.err == nil {
		v.err = &limitError{"engine.input", fmt.Sprintf("%.60s: want %s", name, want)}
	}
}

func (v *requestReader) text(name string) string {
	s, ok := v.values[name].(string)
	if !ok && v.values[name] != nil {
		v.fail(name, "a string")
	}
	return s
}

func (v *requestReader) texts(name string) []string { return v.textsOf(name, v.values[name]) }

func (v *requestReader) textsOf(name string, value any) []string {
	all, ok := value.([]any)
	if !ok && value != nil {
		v.fail(name, "a list of strings")
	}
	out := make([]string, 0, len(all))
	for _, one := range all {
		s, ok := one.(string)
		if !ok {
			v.fail(name, "a list of strings")
		}
		out = append(out, s)
	}
	return out
}

func (v *requestReader) object(name string) map[string]any {
	return v.objectOf(name, v.values[name])
}

func (v *requestReader) objectOf(name string, value any) map[string]any {
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		v.fail(name, "an object")
	}
	return object
}

func (v *requestReader) number(name string) float64 {
	value := v.values[name]
	n, ok := value.(json.Number)
	f, err := n.Float64()
	if value != nil && (!ok || err != nil || math.IsInf(f, 0)) {
		v.fail(name, "a number")
		return 0
	}
	return f
}

// timeout is how long the caller lets a blocking call take, in seconds.
func (v *requestReader) timeout() int {
	wait, limit := v.number("waitMs"), v.number("timeout")
	if wait == 0 {
		wait = limit
	}
	return int(math.Ceil(wait / 1000))
}

func (v *requestReader) count(name string) int {
	f := v.number(name)
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		v.fail(name, "a whole number")
		return 0
	}
	return int(f)
}

// servers lists the caller's own MCP servers by name. Of variables and headers
// only the names are shown.
func (v *requestReader) servers() []serverInput {
	all := v.object("mcpServers")
	out := make([]serverInput, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		config := &requestReader{values: v.objectOf("mcpServers", all[name])}
		s := serverInput{
			Name: name, Source: "caller", Transport: config.text("type"), Command: config.text("command"), Args: config.texts("args"),
			URL: config.text("url"), Env: foldedKeys(config.object("env"), strings.ToUpper), Headers: foldedKeys(config.object("headers"), strings.ToLower),
		}
		if s.Transport == "" {
			s.Transport = "stdio"
		}
		if config.err != nil && v.err == nil {
			v.err = &limitError{"engine.input", fmt.Sprintf("mcpServers.%.60s.%s", name, config.err)}
		}
		out = append(out, s)
	}
	return out
}

func foldedKeys(m map[string]any, fold func(string) string) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, fold(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// secretName finds variables whose value is a secret by their name.
var secretName = regexp.MustCompile(`SECRET|TOKEN|PASSW|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_?KEY|_KEY$|^KEY$|_PAT$|AUTH|COOKIE|DSN$|CONNECTION_STRING`)

// variables lists what the caller sets, by name; values only as digests.
func (v *requestReader) variables() []variableInput {
	var out []variableInput
	for _, parameter := range slices.Sorted(maps.Keys(v.values)) {
		name, ok := strings.CutPrefix(parameter, "env.")
		if !ok {
			continue
		}
		name = strings.ToUpper(name)
		out = append(out, variableInput{Name: name, Sensitive: secretName.MatchString(name), ValueSHA256: digest(v.text(parameter))})
	}
	return out
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func textOf(kind, text string) textInput {
	shown := text
	if len(shown) > maxTextShown {
		shown = shown[:maxTextShown]
		for !utf8.ValidString(shown[max(0, len(shown)-utf8.UTFMax):]) && len(shown) > maxTextShown-utf8.UTFMax {
			shown = shown[:len(shown)-1]
		}
	}
	return textInput{Kind: kind, Bytes: len(text), SHA256: digest(text), Text: shown}
}

func (v *requestReader) prompt() textInput {
	if v.values["prompt"] == nil {
		return textInput{Kind: "none"}
	}
	return textOf("text", v.text("prompt"))
}

// systemPrompt is a text, or the CLI's preset with what is appended to it.
func (v *requestReader) systemPrompt() textInput {
	switch value := v.values["systemPrompt"].(type) {
	case nil:
		return textInput{Kind: "none"}
	case string:
		return textOf("text", value)
	case map[string]any:
		preset := &requestReader{values: value}
		if text := preset.text("append"); preset.err == nil && text != "" {
			return textOf("append", text)
		}
		if preset.err != nil {
			v.fail("systemPrompt.append", "a string")
		}
		return textInput{Kind: "preset"}
	}
	v.fail("systemPrompt", "a string or a preset")
	return textInput{Kind: "none"}
}

// furtherDirs are the folders asked for, as paths the session would write.
func (s *Set) furtherDirs(r admission.Request) []facts.Path {
	resolver := facts.Resolver{Cwd: r.Cwd, Roots: r.Roots, Home: s.options.Home, Protected: s.options.Protected, Secret: s.options.Secret}
	var out []facts.Path
	for _, d := range r.AdditionalDirs {
		out = append(out, resolver.Resolve(d.Path, facts.Write))
	}
	return out
}

// executableOf follows the links of an executable and says whether a session of
// this request could replace it.
func executableOf(abs string, r admission.Request) executableInput {
	e := executableInput{Abs: abs}
	if abs == "" {
		return e
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil && filepath.IsAbs(real) {
		e.Real = real
	}
	writable := slices.Clone(r.Roots)
	for _, d := range r.AdditionalDirs {
		writable = append(writable, d.Path)
	}
	for _, folder := range writable {
		e.Inside = e.Inside || facts.Within(folder, filepath.Clean(abs)) || facts.Within(folder, e.Real)
	}
	return e
}
