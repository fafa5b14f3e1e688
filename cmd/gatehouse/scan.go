package main

import (
	"bufio"
	"io"
)

// maxAnswerBytes bounds one line typed as an answer.
const maxAnswerBytes = 64 << 10

func newLineScanner(r io.Reader) *bufio.Scanner {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 4096), maxAnswerBytes)
	return scan
}
