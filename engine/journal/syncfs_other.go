//go:build !linux || (!amd64 && !arm64)

package journal

import (
	"errors"
	"os"
)

func syncsSystem() bool { return false }

func syncSystem(*os.Root) error { return errors.ErrUnsupported }
