//go:build !unix

package facts

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
