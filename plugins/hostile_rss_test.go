//go:build !linux

package plugins

import "os"

// peak is known on Linux only.
func peak(*os.ProcessState) (int64, bool) { return 0, false }
