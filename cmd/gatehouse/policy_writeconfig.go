package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// wanted are the lines that make the configuration load the daily rules.
func (p dailyPlace) wanted(s *settings) []string {
	lines := []string{"[policy]"}
	paths, data := p.lists(s)
	if module, _ := p.listed(s); !module {
		lines = append(lines, "paths = "+tomlList(paths))
	}
	if _, listed := p.listed(s); !listed {
		lines = append(lines, "data = "+tomlList(data))
	}
	return lines
}

// lists are policy.paths and policy.data of the user's file, with what is missing.
func (p dailyPlace) lists(s *settings) (paths, data []string) {
	raw, _ := p.readConfig() // one that cannot be read was an error before
	paths, data = slices.Clone(raw.Policy.Paths), slices.Clone(raw.Policy.Data)
	module, listed := p.listed(s)
	if !module {
		paths = append(paths, p.modulePaths()...)
	}
	if !listed {
		data = append(data, "policies/rules.toml")
	}
	return paths, data
}

// modulePaths names the folder where it holds nothing else, so that no file comes
// into force that somebody only keeps there.
func (p dailyPlace) modulePaths() []string {
	for _, file := range policyFiles([]string{p.folder}) {
		if !samePath(file, p.module) && !samePath(file, p.tests) {
			return []string{"policies/daily.rego", "policies/daily_test.rego"}
		}
	}
	return []string{"policies"}
}

func (p dailyPlace) readConfig() (fileConfig, error) {
	var raw fileConfig
	text, err := readBounded(p.config)
	if err == nil {
		_, err = toml.Decode(text, &raw)
	}
	return raw, err
}

// list adds the daily rules to the user's configuration. Where the file is
// written in a way that cannot be edited safely, nothing is changed.
func (p dailyPlace) list(s *settings, env environment) error {
	text, err := readBounded(p.config)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = "", nil
	}
	if err != nil {
		return fmt.Errorf("config %s: %w", p.config, err)
	}
	paths, data := p.lists(s)
	edited, err := withPolicyLists(p.config, text, paths, data)
	if err != nil {
		return fmt.Errorf("config %s: %w; add the lines yourself", p.config, err)
	}
	if err := os.MkdirAll(filepath.Dir(p.config), 0o700); err != nil {
		return err
	}
	if err := p.loads(edited, s, env); err != nil {
		return fmt.Errorf("config %s: %w; nothing was changed there", p.config, err)
	}
	return writePrivate(p.config, edited)
}

// loads tries an edited configuration: the organisation may have locked a key.
func (p dailyPlace) loads(edited string, s *settings, env environment) error {
	f, err := os.CreateTemp(filepath.Dir(p.config), ".new-*.toml")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(edited)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	l, err := loadConfig(organisationFile, f.Name(), env)
	if err != nil {
		return err
	}
	if len(l.Workspace.Roots) == 0 {
		l.Workspace.Roots = s.roots
	}
	_, err = l.check(s.start, env)
	return err
}

// withPolicyLists sets policy.paths and policy.data in a configuration's text and
// makes sure that nothing else has changed.
func withPolicyLists(file, text string, paths, data []string) (string, error) {
	var before, after fileConfig
	if err := before.decode(file, text, places{}); err != nil {
		return "", err
	}
	edited, err := setInPolicy(text, "data", data) // first, so that it stands second where both are new
	if err == nil {
		edited, err = setInPolicy(edited, "paths", paths)
	}
	if err != nil {
		return "", err
	}
	if err := after.decode(file, edited, places{}); err != nil {
		return "", errors.New("it is written in a way that cannot be edited here")
	}
	if !slices.Equal(after.Policy.Paths, paths) || !slices.Equal(after.Policy.Data, data) {
		return "", errors.New("it is written in a way that cannot be edited here")
	}
	before.Policy.Paths, before.Policy.Data, after.Policy.Paths, after.Policy.Data = nil, nil, nil, nil
	if !reflect.DeepEqual(before, after) {
		return "", errors.New("it is written in a way that cannot be edited here")
	}
	return edited, nil
}

var (
	policyHeader = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*policy[ \t]*\][ \t]*(#.*)?$`)
	anyHeader    = regexp.MustCompile(`(?m)^[ \t]*\[`)
)

// setInPolicy sets one list of the table [policy]. A list over several lines is
// left to its owner.
func setInPolicy(text, key string, values []string) (string, error) {
	line := key + " = " + tomlList(values)
	at := policyHeader.FindStringIndex(text)
	if at == nil {
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		return text + "[policy]\n" + line + "\n", nil
	}
	body, rest := text[at[1]:], ""
	if next := anyHeader.FindStringIndex(body); next != nil {
		body, rest = body[:next[0]], body[next[0]:]
	}
	old := regexp.MustCompile(`(?m)^[ \t]*` + key + `[ \t]*=.*$`)
	found := old.FindStringIndex(body)
	if found == nil {
		return text[:at[1]] + "\n" + line + body + rest, nil
	}
	if written := strings.TrimSpace(body[found[0]:found[1]]); !strings.HasSuffix(written, "]") {
		return "", fmt.Errorf("%s stands there over several lines or with a comment", key)
	}
	return text[:at[1]] + body[:found[0]] + line + body[found[1]:] + rest, nil
}

func tomlList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quotedText(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
