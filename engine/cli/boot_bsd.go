//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"encoding/hex"
	"sync"
	"syscall"
)

// bootID names the run of the machine.
var bootID = sync.OnceValue(func() string {
	for _, name := range []string{"kern.bootsessionuuid", "kern.boot_id", "kern.boottime"} {
		if value, err := syscall.Sysctl(name); err == nil && value != "" {
			return hex.EncodeToString([]byte(value)) // some are not text
		}
	}
	return "unknown-" + newRun() // equals no other
})
