//go:build !linux

package journal

import "os"

func syncFile(f *os.File) error { return f.Sync() }
