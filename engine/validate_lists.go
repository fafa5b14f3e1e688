package engine

// Bounds of a list of the caller. A rule list goes to the CLI as one argument, of
// which Linux takes 128 KiB with its flag; beyond, the CLI does not start at all.
const (
	maxListEntries = 10_000
	maxListBytes   = 120 << 10 // with a comma for each entry
)

// validateLists refuses lists that are too long to be handed over or judged.
func (p *StartParams) validateLists() error {
	lists := []struct {
		name    string
		entries []string
	}{
		{"allowedTools", p.AllowedTools}, {"disallowedTools", p.DisallowedTools}, {"tools", nil},
		{"betas", p.Betas}, {"additionalDirectories", p.AdditionalDirs},
	}
	if p.Tools != nil {
		lists[2].entries = *p.Tools
	}
	for _, list := range lists {
		if n := len(list.entries); n > maxListEntries {
			return Errorf(InvalidArgument, "%s: has %d entries, at most %d are taken; name several things by one pattern, such as mcp__server__*", list.name, n, maxListEntries)
		}
		size := 0
		for _, entry := range list.entries {
			size += len(entry) + 1
		}
		if size > maxListBytes {
			return Errorf(InvalidArgument, "%s: has %d bytes, at most %d are taken; name several things by one pattern, such as mcp__server__*", list.name, size, maxListBytes)
		}
	}
	return nil
}
