package redact

import (
	"maps"
	"slices"
)

// The sets of detectors that edits can name.
const (
	setVendor  = "vendor"  // formats that tell by themselves that they are secrets
	setContext = "context" // what only its surroundings tell
	setCustom  = "custom"  // the user's own, and given values
)

var setNames = []string{setVendor, setContext, setCustom}

// detectorSets maps the name of every detector to the set it belongs to.
func detectorSets(o Options) map[string]string {
	all := map[string]string{}
	for _, kind := range Kinds() {
		all[kind] = setVendor
	}
	all[contextKind] = setContext
	for _, c := range o.Custom {
		all[c.Name] = setCustom
	}
	for name := range o.Values {
		all[name] = setCustom
	}
	return all
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func words[S ~string](list []S) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = string(list[i])
	}
	return all
}

// closest is the word that takes the fewest changes of a byte to come to.
func closest(name string, known []string) string {
	best, least := "", 0
	for _, word := range known {
		if d := changes(name, word); best == "" || d < least {
			best, least = word, d
		}
	}
	return best
}

// changes counts bytes to add, remove or replace.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
