//go:build !unix

package regular

// doNotWait is nothing: a file system here holds no FIFO.
const doNotWait = 0
