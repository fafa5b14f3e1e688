package plugins

// SeesOutput says whether a plugin of that name has the hook post_tool and is
// healthy: whether the output of a tool passes it now.
func (h *Host) SeesOutput(name string) bool {
	for _, p := range h.at(PostTool) {
		if p.config.Name == name {
			return p.healthy()
		}
	}
	return false
}
