package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// This file keeps servers out that carry what is this program's alone, or that
// are this program: a session that starts sessions runs them beside the limits.

// Rules of this file.
const (
	ruleOwnSecret  = "engine.own_secret"
	ruleOwnProgram = "engine.own_program"
)

// Bounds of the words of one server that are looked up as programs, and of the
// folders they are looked for in. What has more is refused.
const (
	maxServerWords = 256
	maxPathDirs    = 200
)

// started is what of a server's configuration says what it starts with.
type started struct {
	variables []string // names
	path      string   // its own PATH, mostly ""
	command   string   // of stdio
	texts     []string // arguments, and the command that makes headers
}

func (c serverConfig) started() started {
	return started{slices.Collect(maps.Keys(c.Env)), c.Env["PATH"], c.Command, append([]string{c.HeadersHelper}, c.Args...)}
}

// startedBy reads a caller's configuration as the CLI does: member names by
// their letters, and of two the last.
func startedBy(raw json.RawMessage) (s started) {
	var config map[string]any
	if json.Unmarshal(raw, &config) != nil {
		return s // no server; the CLI says so
	}
	variables, _ := config["env"].(map[string]any)
	s.variables = slices.Collect(maps.Keys(variables))
	s.path, _ = variables["PATH"].(string)
	s.command, _ = config["command"].(string)
	s.texts = append(textsIn(config["args"]), textsIn(config["headersHelper"])...)
	return s
}

func textsIn(value any) (texts []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			texts = append(texts, textsIn(e)...)
		}
	}
	return texts
}

// refusesServer says by which rule no session gets a server, "" when by none.
func (s *Session) refusesServer(c started) (rule, reason string) {
	if name := c.ownVariable(); name != "" {
		return ruleOwnSecret, fmt.Sprintf("its configuration names %s, which never reaches a session; set it for Gatehouse itself, in the entry of another MCP client", name)
	}
	if name := s.engine.withheld(c.variables); name != "" {
		return ruleOwnSecret, fmt.Sprintf("its configuration names %s, which is withheld from sessions: a server of Gatehouse's own has it; choose another name", name)
	}
	if !s.engine.o.OwnProgramServers && s.startsUs(c) {
		return ruleOwnProgram, "it is the program that runs this session, or has too many words to tell: sessions started from a session would run beside the limits"
	}
	return "", ""
}

// ownVariable finds a variable that is ours alone, also where a shell would set
// or unset it.
func (c started) ownVariable() string {
	for _, own := range append([]string{SessionVariable}, ownSecrets...) {
		named := func(text string) bool { return strings.Contains(strings.ToUpper(text), own) }
		if named(c.command) || slices.ContainsFunc(c.variables, named) || slices.ContainsFunc(c.texts, named) {
			return own
		}
	}
	return ""
}

// startsUs reports whether the command, or a word of the arguments that names a
// program, leads to the running program. It errs on the safe side where there
// are too many words to look at, and cannot see through a script.
func (s *Session) startsUs(c started) bool {
	executable, err := os.Executable()
	if err != nil {
		return false // what a session starts is marked besides, see SessionVariable
	}
	own, err := os.Stat(executable)
	if err != nil {
		return false
	}
	words := c.words(s.filledIn)
	if len(words) > maxServerWords {
		return true
	}
	dirs := slices.Concat(filepath.SplitList(s.filledIn(c.path)), filepath.SplitList(s.engine.variable("PATH")))
	if len(dirs) > maxPathDirs {
		return true
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.ContainsFunc(s.placesOf(word, dirs), func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && os.SameFile(own, info)
		})
	})
}

// words are the command, and the words of the arguments as a shell would split
// them, each once; one more than maxServerWords means too many.
func (c started) words(filledIn func(string) string) []string {
	words := []string{filledIn(c.command)}
	add := func(word string) {
		if word != "" && len(words) <= maxServerWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, text := range c.texts {
		text = filledIn(text)
		add(text)
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;|&()<>=", r) }) {
			add(word)
		}
	}
	return words
}

// placesOf are the files a word may name as a program.
func (s *Session) placesOf(word string, dirs []string) (files []string) {
	switch {
	case word == "":
		return nil
	case filepath.IsAbs(word):
		files = []string{word}
	case strings.ContainsAny(word, `/\`):
		files = []string{filepath.Join(s.cwd, word)}
	default:
		for _, dir := range dirs {
			files = append(files, filepath.Join(dir, word))
		}
	}
	if runtime.GOOS == "windows" {
		for _, f := range slices.Clone(files) {
			files = append(files, f+".exe")
		}
	}
	return files
}

var variableUse = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// filledIn puts variables into a text as the CLI does when a server starts. The
// result is looked at here and never shown.
func (s *Session) filledIn(text string) string {
	return variableUse.ReplaceAllStringFunc(text, func(use string) string {
		m := variableUse.FindStringSubmatch(use)
		if value := s.engine.variable(m[1]); value != "" {
			return value
		}
		return m[2]
	})
}

// refuseCallers refuses a caller's servers that no session gets.
func (s *Session) refuseCallers() error {
	if err := s.refuseTaken(); err != nil {
		return err
	}
	servers := membersOf(s.params.McpServers)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if rule, reason := s.refusesServer(startedBy(servers[name])); rule != "" {
			return Errorf(PermissionDenied, "mcpServers refused by rule %s: %q: %s", rule, clip(name), reason)
		}
	}
	return nil
}

// validateServers holds the names of a caller's servers to what stands whole in
// their tools' names, so that none reads as a server of the owner.
func validateServers(servers json.RawMessage) error {
	if len(servers) == 0 {
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(servers, &all) != nil {
		return Errorf(InvalidArgument, "mcpServers: want an object of server configurations by name")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "" || toolServer(name) != name {
			return Errorf(InvalidArgument, "mcpServers: %q is no name of a server; %s", clip(name), namesOfServers)
		}
	}
	return nil
}
