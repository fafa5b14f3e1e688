package redact

import (
	"slices"
	"strings"
	"sync"
)

// vendors are the formats that tell by themselves that they are secrets; they
// are always looked for. At one position the first that fits counts, so the more
// specific prefix stands first.
//
// Lengths are those the vendors publish, or those of rule sets their tokens are
// known to pass; where a vendor has changed them, the shortest one is a minimum.
//
// They are made at first use: a process that redacts nothing, or starts for one
// command, does not wait for them.
var vendors = sync.OnceValue(func() []format {
	return slices.Concat(
		keyFormats(), llmFormats(), cloudFormats(), azureFormats(), infraFormats(), codeFormats(),
		registryFormats(), chatFormats(), discordBots(), paymentFormats(), monitorFormats(),
		workFormats(), databaseFormats(), headerFormats(), urlFormats(),
	)
})

// uuid is the lower case form 8-4-4-4-12.
func uuid() []part {
	return []part{of(&hex, 8), lit("-"), of(&hex, 4), lit("-"), of(&hex, 4), lit("-"), of(&hex, 4), lit("-"), of(&hex, 12)}
}

// ownForm reports whether s[from:end] has a format of its own, whose name tells
// more than that of the place where it stands.
func ownForm(s string, from, end int) bool {
	for _, f := range ownForms()[s[from]] {
		if !strings.HasPrefix(s[from:end], f.prefix) {
			continue
		}
		if first, last, v := f.at(s, from, true); v == present && first == from && last >= end {
			return true
		}
	}
	return false
}

// ownForms are the formats that tell by themselves, by their first byte. Those of
// places are not among them: they ask for these, and a chain of places would be
// looked at once for every part of it.
var ownForms func() *[256][]*format

// It is set late because vendors, which it reads, leads to it.
func init() {
	ownForms = sync.OnceValue(func() *[256][]*format {
		t := &[256][]*format{}
		for i := range vendors() {
			if f := &vendors()[i]; !f.place {
				t[f.prefix[0]] = append(t[f.prefix[0]], f)
			}
		}
		return t
	})
}
