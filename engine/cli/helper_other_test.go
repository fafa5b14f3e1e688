//go:build !unix

package cli_test

func flooded() int { return 1 }
