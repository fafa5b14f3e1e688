package policy

import "slices"

// profiles are the names of the built-in policy sets, one file each.
var profiles = []string{"dev", "readonly", "ci", "locked", "none"}

// profileFiles are the files of one profile beside those that the others share.
var profileFiles = map[string][]string{
	"dev":      {"dev", "shell_reads", "reading", "git_reads"},
	"ci":       {"dev", "ci", "redaction", "shell_reads", "reading", "git_reads"},
	"readonly": {"readonly", "shell_reads", "reading", "git_reads"},
	"locked":   {"locked", "redaction"},
}

// noneFiles are all there is in profile none: what guards the gate itself, what
// the caller disallows, and the doors other than tool calls.
var noneFiles = []string{
	"none", "session", "families", "caller", "inproc",
	"admission", "admission_answer", "admission_configure", "admission_env", "admission_executable", "admission_limits", "admission_servers", "admission_sources",
}

// inProfile reports whether a profile loads the file of that name. Files that
// no profile names are shared by all of them but none.
func inProfile(profile, base string) bool {
	if profile == "none" {
		return slices.Contains(noneFiles, base)
	}
	named := slices.Contains(profiles, base)
	for _, files := range profileFiles {
		named = named || slices.Contains(files, base)
	}
	return !named || slices.Contains(profileFiles[profile], base)
}
