package facts

import (
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// foldPath splits a path into folded segments.
func foldPath(abs string) []string { return appendFolded(nil, abs) }

// appendFolded folds each segment: dots and blanks at the end go, as Windows
// ignores them, a stream name after a colon and what takes no room too; a
// short name becomes the name it is made from.
func appendFolded(to []string, abs string) []string {
	from := len(to)
	to = appendSegments(to, abs[len(filepath.VolumeName(abs)):])
	for i := from; i < len(to); i++ {
		s := to[i]
		if name, _, found := strings.Cut(s, ":"); found && name != "" {
			s = name
		}
		if !isASCII(s) {
			s = visible(s)
		}
		s = fold(strings.TrimRight(s, ". "))
		if tilde := strings.LastIndexByte(s, '~'); tilde > 0 {
			s = longName(s, tilde)
		}
		to[i] = s
	}
	return to
}

// shortNames are the plain names of the tables by the short name that Windows
// makes of them, without the number.
var shortNames = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, row := range rows.rows {
		for _, name := range row.want {
			if s := shortName(name); s != "" && all[s] == "" {
				all[s] = name
			}
		}
	}
	return all
})

// shortName makes the 8.3 name: six characters, then three of the extension.
// A plain name that is one already has none.
func shortName(name string) string {
	stem := strings.TrimLeft(name, ".")
	stem, ext := strings.TrimSuffix(stem, path.Ext(stem)), strings.TrimPrefix(path.Ext(stem), ".")
	if magic(name) || stem == "" || name[0] != '.' && len(stem) <= 8 && len(ext) <= 3 {
		return ""
	}
	return stem[:min(6, len(stem))] + "." + ext[:min(3, len(ext))]
}

// longName returns the name of the tables that a short name with a tilde may
// stand for, else the name itself.
func longName(s string, tilde int) string {
	number, ext, _ := strings.Cut(s[tilde+1:], ".")
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return s
	}
	if long := shortNames()[s[:tilde]+"."+ext]; long != "" {
		return long
	}
	return s
}
