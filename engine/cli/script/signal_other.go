//go:build !unix

package script

// watchSignals does nothing: the system delivers no signals.
func watchSignals(*process) func() { return func() {} }
