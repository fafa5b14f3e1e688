package facts

import (
	"path/filepath"
	"strings"
)

// Diff is what an edit changes, as far as its arguments tell. Nothing is read:
// lines of a file that is written over are not counted, an edit of all
// occurrences counts once, and lines that an edit repeats unchanged at its
// beginning and end do not count.
type Diff struct {
	Files   []string `json:"files" doc:"absolute paths that are changed"`
	Added   int      `json:"added" doc:"lines"`
	Removed int      `json:"removed" doc:"lines; of a whole file that is written over, nothing is counted"`
}

// Diff counts what a call of an editing tool changes; the zero value for others.
func (r Resolver) Diff(tool string, input map[string]any) Diff {
	var d Diff
	switch tool {
	case "Write":
		d.edit("", text(input, "content"))
	case "Edit":
		d.edit(text(input, "old_string"), text(input, "new_string"))
	case "MultiEdit":
		edits, _ := input["edits"].([]any)
		for _, e := range edits {
			one, _ := e.(map[string]any)
			d.edit(text(one, "old_string"), text(one, "new_string"))
		}
	case "NotebookEdit":
		if text(input, "edit_mode") != "delete" {
			d.edit("", text(input, "new_source"))
		}
	default:
		return d
	}
	for _, a := range tools[tool] {
		path := trim(text(input, a.name))
		if joined, ok := r.join(path); ok && path != "" {
			d.Files = append(d.Files, filepath.Clean(joined))
		}
	}
	return d
}

func text(input map[string]any, name string) string {
	s, _ := input[name].(string)
	return s
}

// edit counts the lines of a replacement without those it leaves as they are
// at both ends.
func (d *Diff) edit(before, after string) {
	removed, added := lines(before), lines(after)
	for len(removed) > 0 && len(added) > 0 && removed[0] == added[0] {
		removed, added = removed[1:], added[1:]
	}
	for len(removed) > 0 && len(added) > 0 && removed[len(removed)-1] == added[len(added)-1] {
		removed, added = removed[:len(removed)-1], added[:len(added)-1]
	}
	d.Added, d.Removed = d.Added+len(added), d.Removed+len(removed)
}

// lines splits a text; a newline at the end begins no further line.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
