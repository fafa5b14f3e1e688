package facts

import (
	"path/filepath"
	"strings"
)

// DenyReadRules returns the secret files as patterns of the CLI's permission
// rules, to be wrapped as Read(pattern). They stop what passes no gate: @path
// mentions in prompts, commands and imported memory files, and searches. The
// CLI has no exceptions, so they cover .env.example too.
func DenyReadRules() []string {
	var rules []string
	for _, row := range secrets {
		pattern := row.pattern
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		switch {
		case row.rules != nil:
			rules = append(rules, row.rules...)
		case strings.HasPrefix(pattern, "/"):
			rules = append(rules, "/"+pattern)
		default:
			rules = append(rules, "**/"+pattern, "~/"+pattern, "//**/"+pattern)
			for _, end := range copyEnds(pattern) {
				rules = append(rules, "**/"+pattern+end, "//**/"+pattern+end)
			}
		}
	}
	return rules
}

// DenyReadsBelow returns such patterns for absolute files or folders.
func DenyReadsBelow(paths []string) (rules []string) {
	for _, path := range paths {
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune("*?[]{}()!\\# ", r) && r != filepath.Separator {
				return '?' // would mean something else in a rule, or end it
			}
			return r
		}, path)
		pattern := "//" + strings.TrimPrefix(filepath.ToSlash(plain), "/")
		rules = append(rules, pattern, pattern+"/**")
	}
	return rules
}

// copyEnds are patterns for the copies that are kept of a secret file. The
// public half of a key is none.
func copyEnds(pattern string) []string {
	switch {
	case strings.HasSuffix(pattern, "*"):
		return nil
	case strings.HasPrefix(pattern, "id_"):
		return []string{"~", ".bak", ".old", ".orig", ".save"}
	}
	return []string{"[.~]*"}
}
