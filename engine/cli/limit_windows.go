package cli

// openFiles stands for a limit that Windows does not have: handles cost memory only.
func openFiles() uint64 { return filesKept + 1000*filesPerProcess }
