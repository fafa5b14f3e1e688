package upstream

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// passedOn are the variables of this process that a command gets.
var passedOn = func() map[string]bool {
	names := "PATH HOME LANG LC_ALL TMPDIR USER"
	if runtime.GOOS == "windows" {
		names += " SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERPROFILE USERNAME APPDATA LOCALAPPDATA PROGRAMDATA"
	}
	set := make(map[string]bool)
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}()

// variable is a name as the system compares it.
func variable(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// environment is that of the command: what is passed on, and values.
func environment(ours []string, values map[string]Secret) (env []string) {
	given := make(map[string]bool)
	for name := range values {
		given[variable(name)] = true
	}
	for _, entry := range ours {
		name, _, _ := strings.Cut(entry, "=")
		if name = variable(name); passedOn[name] && !given[name] {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+string(values[name]))
	}
	return env
}

// values are what the sources of a configuration hold now.
type values struct {
	env, headers map[string]Secret
	secrets      []Secret
}

func (c *Config) values() (v values, err error) {
	if v.env, err = read("environment variable", c.Env, "\x00"); err != nil {
		return values{}, err
	}
	if v.headers, err = read("header", c.Headers, "\x00\r\n"); err != nil {
		return values{}, err
	}
	if c.Secrets != nil {
		for i, source := range c.Secrets {
			secret, err := source()
			if err != nil {
				return values{}, fmt.Errorf("secret %d: %w", i+1, err)
			}
			v.secrets = append(v.secrets, secret)
		}
		return v, nil
	}
	v.secrets = slices.AppendSeq(v.secrets, maps.Values(v.env))
	for _, header := range v.headers {
		v.secrets = append(v.secrets, partsOf(header)...)
	}
	return v, nil
}

// read asks each source. An error does not hold a value.
func read(kind string, sources map[string]Source, never string) (map[string]Secret, error) {
	found := make(map[string]Secret, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		value, err := sources[name]()
		if err == nil && strings.ContainsAny(string(value), never) {
			err = errors.New("its value holds a character that cannot stand there; a line break or a zero byte")
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, name, err)
		}
		found[name] = value
	}
	return found, nil
}

// partsOf are what is secret in a header: all of it, what follows a scheme such as
// Bearer, and the password of Basic.
func partsOf(header Secret) []Secret {
	list := []Secret{header}
	scheme, rest, ok := strings.Cut(string(header), " ")
	if !ok {
		return list
	}
	list = append(list, Secret(rest))
	if plain, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		list = append(list, Secret(plain), Secret(password))
	}
	return list
}
