package policy

import (
	"slices"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// oddFlags are the flags of a path that keep it from being plain.
var oddFlags = []string{"control", "device", "invisible", "mixed_script"}

// pathsPlain reports whether there are paths and nothing has to be said about
// any of them. Every rule that allows reading asks it, and it stands in an index
// where a loop over the paths would not. A pattern of a shell text that may name
// a secret is not plain; the CLI's own searches leave secrets out by themselves.
func pathsPlain(paths []facts.Path, shell bool) bool {
	for i := range paths {
		p := &paths[i]
		if !p.Resolved || !p.Inside || p.Protected || p.Sensitive || p.Hardlink {
			return false
		}
		if shell && p.Glob != nil && p.Glob.MatchesProtected {
			return false
		}
		if slices.ContainsFunc(p.Flags, func(flag string) bool { return slices.Contains(oddFlags, flag) }) {
			return false
		}
	}
	return len(paths) > 0
}
