//go:build unix && !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package cli

import "sync"

// bootID equals no other: nothing of an earlier run is ended here.
var bootID = sync.OnceValue(func() string { return "unknown-" + newRun() })
