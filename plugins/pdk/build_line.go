//go:build !wasip1

package pdk

import "strings"

// BuildLine is the shell command that writes NAME.wasm, in the folder of a scaffold;
// empty for a language that [Scaffold] does not know.
func BuildLine(lang, name string) string {
	return strings.ReplaceAll(buildLines[lang], "@NAME@", name)
}
