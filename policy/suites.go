package policy

// Suite is one layer as it was read when the set was loaded: what is done with it
// tells of the very modules that decide.
type Suite struct {
	Layer   string // "builtin", "org", "user" or "project"
	Sources []Source
	Data    map[string]any
}

// Suites returns the layers of the organisation and the user that have tests
// (packages ending in _test), with them. The built-in policies come tested.
func (s *Set) Suites() []Suite {
	var all []Suite
	for _, l := range s.layers {
		if len(l.tests) == 0 {
			continue
		}
		suite := Suite{Layer: l.name, Data: s.options.Data}
		if l.name == "org" {
			suite.Data = s.options.OrgData
		}
		suite.Sources = append(exported(l.sources), exported(l.tests)...)
		all = append(all, suite)
	}
	return all
}
