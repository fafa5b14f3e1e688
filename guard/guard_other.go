//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package guard

import "os"

func adopt() bool {
	os.Unsetenv(Variable)
	return true // there is no guard here, and none is missed
}

func stand(bool) (int, error) { return 0, nil }

// TellRegistry does nothing on this system.
func TellRegistry(string) error { return nil }
