package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// toolFlags are the flags of servers, as given.
type toolFlags struct {
	families      []string // nil: not given
	maxConcurrent *int
}

// toolsOf declares them; a server of one family has no choice of families.
func (o *options) toolsOf(f *flag.FlagSet, name string) {
	if name != "serve" && name != "check" && name != mpmName {
		return
	}
	o.serves = name
	f.Func("max-concurrent", "`number` of turns that run at once, further ones queue; default: [limits] max_concurrent, which is 5", func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("want a whole number, 1 to %d", maxConcurrentBound)
		}
		o.tools.maxConcurrent = &n
		return nil
	})
	if name == mpmName {
		o.tools.families = []string{familyMPM}
		return
	}
	f.Func("tools", "comma-separated `families` of tools: "+strings.Join(families, ", ")+"; default: [tools] families", func(value string) error {
		o.tools.families = []string{}
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				o.tools.families = append(o.tools.families, word)
			}
		}
		return nil
	})
}

// overrideTools puts them over the configuration; what is locked stays.
func (o *options) overrideTools(l *loaded) error {
	if n := o.tools.maxConcurrent; n != nil {
		if err := l.mayOverride("limits.max_concurrent"); err != nil {
			return fmt.Errorf("--max-concurrent: %w", err)
		}
		l.Limits.MaxConcurrent, l.at["limits.max_concurrent"] = *n, "--max-concurrent"
		l.sums = append(l.sums, fmt.Sprintf("--max-concurrent %d", *n))
	}
	if o.tools.families == nil {
		return nil
	}
	word := "--tools"
	err := l.mayOverride("tools.families")
	if o.serves == mpmName {
		word = mpmName
		if slices.Contains(l.Tools.Families, familyMPM) {
			err = nil // fewer tools than the organisation has
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	l.Tools.Families, l.at["tools.families"] = o.tools.families, word
	l.sums = append(l.sums, fmt.Sprintf("%s %q", word, o.tools.families))
	return nil
}

// userFolderVariable names the folder of sessions of the MPM tools.
const userFolderVariable = "CLAUDE_MPM_USER_PWD"

var errNoFolder = errors.New("is no folder; make it, or name another one")

// mpmStart is where a server of the MPM tools works: --cwd, or the folder of the
// variable, or the current one, which is start. It notes one that is not the
// current one as the folder of sessions whose caller names none.
func (o *options) mpmStart(l *loaded, start string, env environment) (string, error) {
	folder := env.get(userFolderVariable)
	if o.serves == "" {
		return start, nil
	}
	if !slices.Contains(l.Tools.Families, familyMPM) {
		if folder != "" {
			l.variables.overruled = append(l.variables.overruled, fmt.Sprintf("%s is set, but the tools it is for are not offered; add %q to [tools] families", userFolderVariable, familyMPM))
		}
		return start, nil
	}
	why := l.overrules("mpm.working_directory")
	if o.cwd != "" {
		if why == "" {
			l.mpmFolder = start
		}
		if folder != "" {
			l.variables.overruled = append(l.variables.overruled, fmt.Sprintf("%s is set, but --cwd %s holds", userFolderVariable, start))
		}
		return start, nil
	}
	if folder == "" {
		return start, nil
	}
	path := filepath.Clean(env.expand(folder))
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: %q must be absolute or begin with ~", userFolderVariable, folder)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s: %s %w", userFolderVariable, path, errNoFolder)
	}
	var effects []string
	if why == "" {
		l.mpmFolder = path
		effects = append(effects, "sessions of the mpm tools work there where their caller names no folder")
	}
	if len(l.Workspace.Roots) == 0 {
		effects = append(effects, "it is the root")
		l.at["workspace.roots"] = userFolderVariable
	}
	if len(effects) == 0 {
		l.variables.overruled = append(l.variables.overruled, fmt.Sprintf("%s is set, but %s", userFolderVariable, why))
		return path, nil
	}
	l.hold(env, userFolderVariable, strings.Join(effects, ", and "))
	return path, nil
}

// folderRemedy is one more way to name the folder, for clients that start servers
// anywhere.
func (c *checker) folderRemedy() string {
	if !slices.Contains(c.l.Tools.Families, familyMPM) {
		return ""
	}
	return ", or name one in " + userFolderVariable
}

// unfilled tells of variables that hold their own reference: the client did not put
// the value in its place, and the CLI would take it as it is.
func unfilled(env environment) (list []string) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if env.get(name) == "${"+name+"}" {
			list = append(list, fmt.Sprintf("%s is the text ${%s}: the client does not fill variables in; write the value there, or leave it out where you are logged in", name, name))
		}
	}
	return list
}

// serverOptions is what clients are offered. name is what the program was started as.
func (s *settings) serverOptions(name string, logger *slog.Logger) *mcpserver.Options {
	o := &mcpserver.Options{
		Version: readVersion().Version, Logger: logger,
		Without: !s.tools.serves(familyClaudeCode), Sync: s.tools.sync, Configure: s.tools.configurable(),
	}
	if name == mpmName {
		o.Name = mpmName
	}
	if s.variables.noDetails {
		o.NoDetails = detailsVariable + " is set to 0 or false for this server; unset, policy decides"
	}
	if s.tools.serves(familyMPM) {
		o.Further = mpmserver.Tools(s.mpm)
	}
	return o
}

// approversHere are those who can answer questions of a server's sessions. Without
// the claude_code tools no client can: nothing shows it what is asked.
func (s *settings) approversHere(d ownersDoor) []string {
	if s.tools.serves(familyClaudeCode) {
		return d.approvers("client")
	}
	return append([]string{}, d.approvers()...) // none is not nil, which would be all
}
