package engine

import (
	"runtime"
	"slices"
)

// ManagedFolders are where an administrator's settings of the CLI lie on this
// system: managed-settings.json, and further files in managed-settings.d. Those
// of a server or of device management lie elsewhere.
func ManagedFolders() []string { return slices.Clone(managedSettings[runtime.GOOS]) }
