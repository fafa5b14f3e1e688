//go:build !unix

package main

import "os"

// checkOwner only sees that the file is there: outside Unix access is governed
// by lists that this check does not read.
func checkOwner(path string) error {
	_, err := os.Stat(path)
	return err
}
