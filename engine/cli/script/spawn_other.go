//go:build !unix

package script

import "errors"

func startChild() (pid int, err error) {
	return 0, errors.New("not supported on this system")
}
