package facts

import (
	"path"
	"regexp"
	"strings"
)

// maxBraces bounds the expansions of one word; what is beyond is not looked at
// and the word stays unresolved.
const maxBraces = 64

var innerBraces = regexp.MustCompile(`\{([^{}]*)\}`)

// braces expands {a,b} as a shell does.
func braces(word string) []string {
	all := []string{word}
	for i := 0; i < len(all) && len(all) < maxBraces; i++ {
		at := innerBraces.FindStringSubmatchIndex(all[i])
		if at == nil {
			continue
		}
		for _, choice := range strings.Split(all[i][at[2]:at[3]], ",") {
			all = append(all, all[i][:at[0]]+choice+all[i][at[1]:])
		}
	}
	return all
}

// hiddenFolders are folders of secrets a pattern is tried against.
var hiddenFolders = []string{".ssh", ".aws", ".gnupg", ".kube", ".azure"}

// expandsTo names the protection of a secret that an unquoted word may be
// expanded to, or "".
func expandsTo(word string) string {
	for _, one := range braces(word) {
		if by := spells(one); by != "" {
			return by
		}
		for _, seg := range strings.Split(fold(one), "/") {
			if by := dotted(seg); by != "" {
				return by
			}
		}
	}
	return ""
}

// dotted tries a pattern that begins with a dot; others meet no hidden file.
func dotted(pattern string) string {
	if !strings.HasPrefix(pattern, ".") || !strings.ContainsAny(pattern, "*?[") {
		return ""
	}
	for _, name := range append(append([]string{}, samples...), hiddenFolders...) {
		if ok, err := path.Match(pattern, name); ok || err != nil {
			return "pattern"
		}
	}
	return ""
}
