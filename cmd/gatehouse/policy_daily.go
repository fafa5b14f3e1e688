package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

//go:embed daily/*.rego
var dailyModules embed.FS

// dailyPlace is where daily rules live: the files beside the user's configuration.
type dailyPlace struct {
	config string // the user's configuration file, there or not
	folder string // policies beside it
	data   string // rules.toml
	module string // daily.rego
	tests  string // daily_test.rego
}

// errNoConfigFolder is a machine on which nothing says where configuration lives.
var errNoConfigFolder = errors.New("there is no home folder; name a configuration file with --config")

func (c *command) dailyPlace(named string) (dailyPlace, error) {
	config, _ := userConfigFile(named, c.env)
	if config == "" {
		return dailyPlace{}, errNoConfigFolder
	}
	config, err := filepath.Abs(config)
	folder := filepath.Join(filepath.Dir(config), "policies")
	return dailyPlace{
		config: config, folder: folder, data: filepath.Join(folder, "rules.toml"),
		module: filepath.Join(folder, "daily.rego"), tests: filepath.Join(folder, "daily_test.rego"),
	}, err
}

// listed reports whether the configuration loads the module and its data.
func (p dailyPlace) listed(s *settings) (module, data bool) {
	return containsPath(policyFiles(s.policyPaths), p.module) || containsPath(s.policyPaths, p.folder), containsPath(s.policyData, p.data)
}

// write makes the folder and the module, and replaces the rows. The module is
// written once: what its owner changes stays.
func (p dailyPlace) write(f *dailyFile, tests string) error {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if err := checkOwner(p.folder); err != nil {
		return err
	}
	for _, file := range []struct{ path, text string }{{p.module, dailyModule()}, {p.tests, tests}, {p.data, f.text}} {
		if file.path == p.module && exists(p.module) {
			continue
		}
		if err := writePrivate(file.path, file.text); err != nil {
			return fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	return nil
}

func dailyModule() string { return mustDaily("daily/daily.rego") }

func mustDaily(name string) string {
	text, err := dailyModules.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

// readTests returns the text of daily_test.rego, or that of a new one.
func (p dailyPlace) readTests() (string, error) {
	text, err := readBounded(p.tests)
	if errors.Is(err, fs.ErrNotExist) {
		return mustDaily("daily/daily_test.rego"), nil
	}
	return text, err
}

// withTests adds the test of each row, unless it is there.
func withTests(text string, rows []dailyRow) string {
	for _, row := range rows {
		if !strings.Contains(text, row.testMark()) {
			text = strings.TrimRight(text, "\n") + "\n\n" + row.test()
		}
	}
	return text
}

// withoutTest takes the test of a row out again.
func withoutTest(text string, row dailyRow) string {
	before, rest, found := strings.Cut(text, row.testMark())
	if !found {
		return text
	}
	_, after, ended := strings.Cut(rest, "\n}\n")
	if !ended {
		return text
	}
	return strings.TrimRight(before, "\n") + "\n" + after
}

func (r dailyRow) testMark() string {
	where := ""
	if r.Folder != "" {
		where = " in " + r.Folder
	}
	return fmt.Sprintf("# %s %s%s\n", r.Effect, r, where)
}

var noName = regexp.MustCompile(`[^a-z0-9]+`)

// test is the Rego test of a row: it counts for what it names, and an allow not
// for a call that does something else as well.
func (r dailyRow) test() string {
	name := strings.Trim(noName.ReplaceAllString(strings.ToLower(r.Effect+"_"+r.Tool+"_"+r.Pattern), "_"), "_")
	if len(name) > 60 {
		name = name[:60]
	}
	sum := sha256.Sum256([]byte(r.testMark())) // two rows may differ in signs only
	rule := quotedText(r.Effect + ":daily." + r.Effect)
	hit, miss := r.testCalls()
	var b strings.Builder
	fmt.Fprintf(&b, "%stest_%s_%s if {\n", r.testMark(), name, hex.EncodeToString(sum[:3]))
	fmt.Fprintf(&b, "\trow := {\"effect\": %s, \"tool\": %s, \"pattern\": %s}\n", quotedText(r.Effect), quotedText(r.Tool), quotedText(r.Pattern))
	fmt.Fprintf(&b, "\t%s in said([row], %s)\n", rule, hit)
	fmt.Fprintf(&b, "\tnot %s in said([row], %s)\n}\n", rule, miss)
	return b.String()
}

// testCalls are a call the row speaks about and one it does not, as Rego.
func (r dailyRow) testCalls() (hit, miss string) {
	bash := func(text string) string { return fmt.Sprintf("testing.bash(%s)", quotedText(text)) }
	miss = regoCall("Other")
	switch {
	case r.Tool == "Bash" && r.Pattern == "":
		return bash("ls"), miss
	case r.Tool == "Bash" && r.Effect == "allow":
		return bash(r.sample()), bash(r.sample() + "; rm -rf build")
	case r.Tool == "Bash":
		return bash(r.sample()), bash(r.unlike())
	case r.Tool == "WebFetch" && r.Pattern != "":
		return fmt.Sprintf("testing.fetch(%s)", quotedText("https://"+r.sample()+"/")), `testing.fetch("https://other.invalid/")`
	case r.Tool == "Agent" && r.Pattern != "":
		return regoCall("Agent", "subagent_type", r.Pattern), miss
	case r.Tool == "Skill" && r.Pattern != "":
		return regoCall("Skill", "skill", r.Pattern), miss
	case r.Pattern != "" && slices.Contains([]string{"Grep", "Glob", "LS"}, r.Tool):
		return regoCall(r.Tool, "path", r.sample(), "pattern", "x"), regoCall(r.Tool, "path", "/elsewhere", "pattern", "x")
	case r.Pattern != "":
		return regoCall(r.Tool, r.fileArgument(), r.sample()), regoCall(r.Tool, r.fileArgument(), "/elsewhere/x")
	}
	return regoCall(r.exampleTool()), miss
}

// regoCall writes a call in a test; arguments are names, each with its value.
func regoCall(tool string, arguments ...string) string {
	var pairs []string
	for i := 0; i+1 < len(arguments); i += 2 {
		pairs = append(pairs, quotedText(arguments[i])+": "+quotedText(arguments[i+1]))
	}
	return fmt.Sprintf("testing.call(%s, {%s})", quotedText(tool), strings.Join(pairs, ", "))
}

// fileArgument is the argument that names the file.
func (r dailyRow) fileArgument() string {
	if strings.HasPrefix(r.Tool, "Notebook") {
		return "notebook_path"
	}
	return "file_path"
}

// unlike is a command that a pattern for another one does not name.
func (r dailyRow) unlike() string {
	fixed, _, _ := strings.Cut(r.Pattern, "*")
	if strings.HasPrefix("uname -a", fixed) {
		return "date +%s"
	}
	return "uname -a"
}

// sampleFolder is the working folder of the documents in tests.
const sampleFolder = "/workspace/project/"

// sample is something the row names: a command, a host, or a file of sampleFolder.
func (r dailyRow) sample() string {
	pattern := strings.ReplaceAll(r.Pattern, ":*", " *")
	switch {
	case r.Tool == "Bash" && pattern == "":
		return "ls"
	case r.Tool == "Bash":
		text := strings.TrimSpace(strings.ReplaceAll(strings.TrimSuffix(pattern, "*"), "*", "x"))
		if strings.HasSuffix(pattern, " *") && !facts.Analyse(text).OK { // an interpreter without a file
			text += " x"
		}
		return text
	case r.Tool == "WebFetch":
		return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(r.Pattern), "domain:"), "*", "www")
	}
	file := strings.NewReplacer("**/", "", "**", "x", "*", "x", "?", "x").Replace(strings.TrimSuffix(pattern, "/"))
	if absolute, ok := strings.CutPrefix(file, "//"); ok {
		return "/" + absolute
	}
	return sampleFolder + strings.TrimPrefix(strings.TrimPrefix(file, "./"), "/")
}

// candidate loads the policies in force with other rows and tests, which are
// written to a folder of their own until the returned function removes it.
func (p dailyPlace) candidate(ctx context.Context, s *settings, f *dailyFile, tests string) (*policy.Set, func(), error) {
	folder, err := os.MkdirTemp("", "gatehouse-policy-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(folder) }
	temporary := dailyPlace{
		folder: folder, data: filepath.Join(folder, "rules.toml"),
		module: filepath.Join(folder, "daily.rego"), tests: filepath.Join(folder, "daily_test.rego"),
	}
	if err := temporary.write(f, tests); err != nil {
		remove()
		return nil, nil, err
	}
	set, err := loadPolicies(ctx, p.replaced(s, temporary), slog.New(slog.DiscardHandler))
	if err != nil {
		remove()
		return nil, nil, err
	}
	return set, remove, nil
}

// replaced are the settings with the daily rules of another place. A module that
// is in force stays: its owner may have changed it.
func (p dailyPlace) replaced(s *settings, other dailyPlace) *settings {
	with := *s
	with.policyData = slices.DeleteFunc(slices.Clone(s.policyData), func(path string) bool { return samePath(path, p.data) })
	with.policyData = append(with.policyData, other.data)
	with.policyPaths = slices.Clone(s.orgPaths)
	module := other.module
	for _, file := range policyFiles(without(s.policyPaths, s.orgPaths)) {
		if samePath(file, p.module) {
			module = file
		} else if !samePath(file, p.tests) {
			with.policyPaths = append(with.policyPaths, file)
		}
	}
	with.policyPaths = append(with.policyPaths, module, other.tests)
	return &with
}
