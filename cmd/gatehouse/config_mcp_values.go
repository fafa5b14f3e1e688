package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// maxSecretFile bounds what ${file:…} reads, in bytes.
const maxSecretFile = 64 << 10

// part is a piece of a value: a text as it stands, or where one is taken from.
type part struct {
	text     string
	variable string // of our environment
	file     string // absolute
}

// secret says that the piece came from elsewhere.
func (p part) secret() bool { return p.variable != "" || p.file != "" }

var withheldForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,59}$`)

// parts takes "text with ${NAME} and ${file:/path}" apart. $${ is ${ itself.
func (e environment) parts(text string) (all []part, err error) {
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			return append(all, part{text: text}), nil
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			all, text = append(all, part{text: plain + "${"}), rest
			continue
		}
		if before != "" {
			all = append(all, part{text: before})
		}
		named, after, closed := strings.Cut(rest, "}")
		p := part{variable: named}
		if path, is := strings.CutPrefix(named, "file:"); is {
			p = part{file: e.expand(path)}
		}
		switch {
		case !closed:
			return nil, errors.New("${ is not closed; write ${NAME} or ${file:/path}, and $${ for the characters themselves")
		case p.file != "" && !filepath.IsAbs(p.file), named == "file:":
			return nil, fmt.Errorf("${%s}: the path must be absolute or begin with ~/", named)
		case p.file == "" && !withheldForm.MatchString(named):
			return nil, fmt.Errorf("${%s} names no variable; write ${NAME} (up to 60 letters, digits and _, no digit first) or ${file:/path}, and $${ for the characters themselves", named)
		}
		all, text = append(all, p), after
	}
	return all, nil
}

// find is the value of a piece. Its error never holds one.
func (p part) find(env environment) (string, error) {
	switch {
	case p.variable != "":
		if value := env.get(p.variable); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set for Gatehouse; set it where Gatehouse is started", p.variable)
	case p.file != "":
		return readSecret(p.file)
	}
	return p.text, nil
}

// readSecret reads the file of a ${file:…}.
func readSecret(path string) (string, error) {
	data, err := regular.Read(path, maxSecretFile)
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("%s: empty", path)
	}
	return value, nil
}

// sourceOf finds a value again whenever a connection is made. It may not hold one of
// the characters never.
func sourceOf(parts []part, never string, env environment) upstream.Source {
	return func() (upstream.Secret, error) {
		var all strings.Builder
		for _, p := range parts {
			value, err := p.find(env)
			if err != nil {
				return "", missingFile(err)
			}
			all.WriteString(value)
		}
		value := all.String()
		if strings.ContainsAny(value, never) {
			return "", errors.New("the value holds a NUL, or a line break in a header")
		}
		return upstream.Secret(value), nil
	}
}

// texts are the members of a free table, in order; a value that is no text is wrong.
func (k *serverChecker) texts(key string, table map[string]any) iter.Seq2[string, string] {
	if n := len(table); n > maxServerVariables {
		k.wrong("%q: %s has %d members, want at most %d", k.s.Name, key, n, maxServerVariables)
	}
	return func(yield func(string, string) bool) {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			text, ok := table[name].(string)
			if !ok {
				k.wrong("%q: %s: %s wants a string, found %s; put it in quotes", k.s.Name, key, name, typeOf(table[name]))
			}
			if !yield(name, text) {
				return
			}
		}
	}
}

// Characters that cannot be passed on.
const (
	neverInVariables = "\x00"
	neverInHeaders   = "\x00\r\n"
)

// source makes the source of one value, and notes what of it is secret.
func (k *serverChecker) source(at, text, never string, secrets *[]upstream.Source) upstream.Source {
	parts, err := k.env.parts(text)
	if err != nil {
		k.wrong("%q: %s: %v", k.s.Name, at, err)
	}
	for _, p := range parts {
		if p.secret() {
			k.note(at, p)
			*secrets = append(*secrets, sourceOf([]part{p}, "", k.env))
		}
	}
	return sourceOf(parts, never, k.env)
}

// variables are the sources of env and env_from.
func (k *serverChecker) variables(secrets *[]upstream.Source) map[string]upstream.Source {
	if n := len(k.s.EnvFrom); n > maxServerVariables {
		k.wrong("%q: env_from names %d variables, want at most %d", k.s.Name, n, maxServerVariables)
	}
	sources := map[string]upstream.Source{}
	for _, name := range k.s.EnvFrom {
		if !withheldForm.MatchString(name) {
			k.wrong("%q: env_from: %q is no name of a variable: up to 60 letters, digits and _, no digit first", k.s.Name, name)
			continue
		}
		if sources[name] != nil {
			k.wrong("%q: env_from: %s stands twice", k.s.Name, name)
		}
		sources[name] = k.source("env_from: "+name, "${"+name+"}", neverInVariables, secrets)
	}
	for name, text := range k.texts("env", k.s.Env) {
		if !variableName.MatchString(name) || strings.HasPrefix(strings.ToUpper(name), ownPrefix) {
			k.wrong("%q: env: %q is no name of a variable, or one of Gatehouse's own", k.s.Name, name)
		}
		if sources[name] != nil {
			k.wrong("%q: %s stands in env and in env_from; keep one", k.s.Name, name)
		}
		sources[name] = k.source("env: "+name, text, neverInVariables, secrets)
	}
	return sources
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// note keeps what a value is taken from away from sessions.
func (k *serverChecker) note(at string, p part) {
	value, err := p.find(k.env)
	told := fileKind(p.file)
	if p.variable != "" {
		if why := neededInSessions(p.variable); why != "" {
			k.wrong("%q: %s: %s %s", k.s.Name, at, p.variable, why)
		}
		k.out.withheld = union(k.out.withheld, []string{p.variable})
		told = variableKind(p.variable)
	} else {
		k.out.secrets = union(k.out.secrets, []string{filepath.Clean(p.file), linksResolved(filepath.Clean(p.file))})
		if err == nil && othersRead(p.file) {
			k.warn(readableWarning(k.s.Name, p.file))
		}
	}
	switch {
	case err != nil:
		k.warn(fmt.Sprintf("mcp_server %q: %s: %v; it cannot be reached until then", k.s.Name, at, missingFile(err)))
	case len(value) < minCovered:
		k.warn(fmt.Sprintf("mcp_server %q: %s: the value has fewer than %d bytes, too few to cover where it comes up elsewhere", k.s.Name, at, minCovered))
	case len(value) > maxSecretFile:
		k.warn(fmt.Sprintf("mcp_server %q: %s: the value has more than %d bytes, too many to cover where it comes up elsewhere", k.s.Name, at, maxSecretFile))
	default:
		cover(k.out.values, told, value)
	}
}

// missingFile says so without the call that failed.
func missingFile(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

func (k *serverChecker) warn(text string) { k.out.warnings = union(k.out.warnings, []string{text}) }

// cover adds a value to what redaction covers, under a name that is free.
func cover(values map[string]string, told, value string) {
	name := told
	for n := 2; ; n++ {
		if was, taken := values[name]; !taken || was == value {
			values[name] = value
			return
		}
		name = fmt.Sprintf("%s-%d", told, n)
	}
}

const fileKindPrefix = "file-"

var notInKind = regexp.MustCompile(`[^a-z0-9]+`)

// fileKind is how the content of a file is told: file-tickets-token.
func fileKind(path string) string {
	name := strings.Trim(notInKind.ReplaceAllString(strings.ToLower(filepath.Base(path)), "-"), "-")
	return fileKindPrefix + cmp.Or(name[:min(len(name), 40)], "secret")
}

// othersRead reports whether the permissions of a file let others than its owner
// read it, where there are such permissions.
func othersRead(path string) bool {
	info, err := os.Stat(path)
	return runtime.GOOS != "windows" && err == nil && info.Mode().Perm()&0o044 != 0
}

// sessionVariables are what sessions do not work without, or not as their owner
// means them to.
var sessionVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "PWD", "TMPDIR", "TMP", "TEMP",
	"USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// ownPrefix begins the names of Gatehouse's own variables.
const ownPrefix = "GATEHOUSE_"

var sessionPrefixes = []string{"LC_", "XDG_", "ANTHROPIC_", "CLAUDE_"}

// neededInSessions says why a variable cannot be withheld from sessions; empty: it
// can.
func neededInSessions(name string) string {
	name = strings.ToUpper(name)
	switch {
	case name == resumeSecret || name == allowDiskResume || strings.HasPrefix(name, ownPrefix):
		return "is Gatehouse's own; no server is given it"
	case slices.Contains(sessionVariables, name) || slices.ContainsFunc(sessionPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		return "is needed in sessions, which get no variable that is named here; write its value out, or give the server a variable of its own"
	}
	return ""
}
