package redact

import (
	"slices"
	"strings"
)

// vendors are the formats that tell by themselves that they are secrets; they
// are always looked for. At one position the first that fits counts, so the more
// specific prefix stands first.
//
// Lengths are those the vendors publish, or those of rule sets their tokens are
// known to pass; where a vendor has changed them, the shortest one is a minimum.
var vendors = slices.Concat(
	keyFormats, llmFormats, cloudFormats, azureFormats, infraFormats, codeFormats,
	registryFormats, chatFormats, discordBots(), paymentFormats, monitorFormats,
	workFormats, databaseFormats, headerFormats, urlFormats,
)

// uuid is the lower case form 8-4-4-4-12.
func uuid() []part {
	return []part{of(&hex, 8), lit("-"), of(&hex, 4), lit("-"), of(&hex, 4), lit("-"), of(&hex, 4), lit("-"), of(&hex, 12)}
}

// ownForm reports whether s[from:end] has a format of its own, whose name tells
// more than that of the place where it stands.
var ownForm func(s string, from, end int) bool

// The formats of places ask for all formats, which they are among.
func init() {
	ownForm = func(s string, from, end int) bool {
		for i := range vendors {
			f := &vendors[i]
			if !strings.HasPrefix(s[from:end], f.prefix) {
				continue
			}
			if first, last, v := f.at(s, from, true); v == present && first == from && last >= end {
				return true
			}
		}
		return false
	}
}
