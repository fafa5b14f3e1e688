package cli_test

import (
	"bytes"
	"os"
	"strconv"
)

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(raw, ')')
	return err == nil && i >= 0 && !bytes.HasPrefix(raw[i:], []byte(") Z"))
}
