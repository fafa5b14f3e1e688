package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// refusedRule is a rule that was not taken over.
type refusedRule struct {
	Rule string `json:"rule"` // "allow Bash(*)"
	File string `json:"file"`
	Why  string `json:"why"`
}

// policyImport takes over the rules of another program's settings.
func (c *command) policyImport(ctx context.Context, args []string) int {
	o := c.rowFlags("import", "import claude [FILE…]", "Takes over the permission rules of Claude Code's settings files: permissions.allow, ask and deny.\nDefault: settings.json of your Claude Code folder, and .claude/settings.json and settings.local.json here,\nwhose rules then count in this folder only. What is left out is told, with the reason.")
	if code, done := o.parse(args); done {
		return code
	}
	rows, refused, err := c.importClaude(o)
	if err != nil {
		return c.failPolicy(o.policyOptions, err)
	}
	return c.addRows(ctx, o, rows, refused)
}

func (c *command) importClaude(o *rowFlags) (rows []dailyRow, refused []refusedRule, err error) {
	if err := c.notNested("policy import"); err != nil {
		return nil, nil, err
	}
	if len(o.rest) == 0 || o.rest[0] != "claude" {
		return nil, nil, errors.New("import: say from where: gatehouse policy import claude [FILE…]")
	}
	files, err := c.claudeFiles(o.rest[1:])
	if err != nil {
		return nil, nil, err
	}
	found := 0
	for _, f := range files {
		more, left, err := c.claudeRules(f)
		if errors.Is(err, fs.ErrNotExist) && len(o.rest) == 1 {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if found++; o.here && f.folder == "" {
			if f.folder, err = currentFolder(); err != nil {
				return nil, nil, err
			}
		}
		for _, row := range more {
			row.Folder = f.folder
			rows = append(rows, row)
		}
		refused = append(refused, left...)
	}
	if found == 0 {
		return nil, nil, errors.New("import claude: no settings file found; name one")
	}
	return rows, refused, nil
}

// claudeFile is a settings file and the folder its rules are for; empty: all.
type claudeFile struct{ path, folder string }

// claudeFiles are the files named, or those the CLI would read here. The rules of
// a project count in its folder only.
func (c *command) claudeFiles(named []string) (files []claudeFile, err error) {
	if len(named) == 0 {
		own, err := engine.UserFolder(c.env)
		if err == nil {
			files = append(files, claudeFile{path: filepath.Join(own, "settings.json")})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		named = []string{filepath.Join(".claude", "settings.json"), filepath.Join(".claude", "settings.local.json")}
	}
	for _, path := range named {
		f := claudeFile{path: path}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if folder := filepath.Dir(abs); filepath.Base(folder) == ".claude" && filepath.Dir(folder) != filepath.Clean(c.env.home()) {
			if f.folder, err = filepath.EvalSymlinks(filepath.Dir(folder)); err != nil {
				return nil, fmt.Errorf("import claude: %w", err)
			}
		}
		if !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files, nil
}

// claudeRules reads one settings file.
func (c *command) claudeRules(f claudeFile) (rows []dailyRow, refused []refusedRule, err error) {
	text, err := regular.Read(f.path, maxSettingsBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("import claude: %w", err)
	}
	var settings struct {
		Permissions map[string]json.RawMessage `json:"permissions"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, nil, fmt.Errorf("import claude: %s: %w", f.path, err)
	}
	if err := onceEach(json.NewDecoder(bytes.NewReader(text)), ""); err != nil {
		return nil, nil, fmt.Errorf("import claude: %s: %w", f.path, err)
	}
	for _, effect := range []string{"deny", "ask", "allow"} {
		var rules []string
		if raw := settings.Permissions[effect]; raw != nil {
			if err := json.Unmarshal(raw, &rules); err != nil {
				return nil, nil, fmt.Errorf("import claude: %s: permissions.%s: want a list of texts", f.path, effect)
			}
		}
		for _, rule := range rules {
			row, why := c.translate(effect, rule, f)
			if why != "" {
				refused = append(refused, refusedRule{effect + " " + rule, f.path, why})
				continue
			}
			rows = append(rows, row)
		}
	}
	for _, other := range []struct{ key, why string }{
		{"defaultMode", "a mode is a parameter of each session (permissionMode)"},
		{"additionalDirectories", "folders are configured ([workspace] roots) or asked for by a session"},
	} {
		if settings.Permissions[other.key] != nil {
			refused = append(refused, refusedRule{"permissions." + other.key, f.path, other.why})
		}
	}
	return rows, refused, nil
}

// translate makes a row of one rule; why says that it cannot be done.
func (c *command) translate(effect, rule string, f claudeFile) (row dailyRow, why string) {
	name, rest, patterned := strings.Cut(strings.TrimSpace(rule), "(")
	if !dailyTool.MatchString(name) || patterned && !strings.HasSuffix(rest, ")") {
		return row, "it is not of the form Tool or Tool(pattern)"
	}
	row, err := parseDaily(rule, "")
	if !patterned {
		row, err = dailyRow{Tool: name}, nil
	}
	if row.Tool == "Task" {
		row.Tool = "Agent"
	}
	row.Effect, row.Added = effect, time.Now().Format(time.DateOnly)
	row.Reason = ""
	if err != nil {
		row = row.expandHome(c.env.home())
		err = row.check()
	}
	if err == nil {
		err = row.check()
	}
	if err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ")
		return row, text
	}
	if f.folder == "" && slices.Contains(fileTools, row.Tool) && strings.HasPrefix(row.Pattern, "/") && !strings.HasPrefix(row.Pattern, "//") {
		return row, "its path is relative to the settings file's folder; write //absolute/path"
	}
	if effect == "allow" {
		return row, cmp.Or(row.tooWide(), row.matchesNothing())
	}
	return row, ""
}
