//go:build !unix

package audit

// Modes say nothing here.
func checkPrivate(string) error { return nil }
