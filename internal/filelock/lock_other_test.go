//go:build (!unix || solaris || illumos || aix) && !windows

package filelock

const endsWithProcess = false
