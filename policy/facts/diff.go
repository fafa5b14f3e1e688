package facts

// Diff is what an edit changes, as far as its arguments tell.
type Diff struct {
	Files   []string `json:"files" doc:"absolute paths that are changed"`
	Added   int      `json:"added" doc:"lines"`
	Removed int      `json:"removed" doc:"lines; of a whole file that is written over, nothing is counted"`
}

// Diff counts what a call of an editing tool changes; the zero value for others.
func (r Resolver) Diff(tool string, input map[string]any) Diff {
	return Diff{}
}
