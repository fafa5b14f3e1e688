//go:build !unix

package facts

import (
	"errors"
	"io/fs"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

var errUnread = errors.New("a link")

// readSmall reads a regular file of at most limit bytes. It follows no link at
// the end of the path.
func readSmall(path string, limit int) ([]byte, error) {
	if n, err := lstat(path); err != nil || n.mode&fs.ModeType != 0 {
		return nil, errors.Join(err, errUnread)
	}
	return regular.Read(path, int64(limit))
}
