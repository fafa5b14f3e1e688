//go:build unix

package facts

import (
	"errors"
	"syscall"
)

var errUnread = errors.New("no regular file, or too long")

// readSmall reads a regular file of at most limit bytes. It follows no link at
// the end of the path and does not wait for a pipe; an os.File would cost
// twice the calls of the kernel.
func readSmall(path string, limit int) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Size > int64(limit) {
		return nil, errUnread
	}
	text := make([]byte, st.Size+1)
	for n := 0; ; {
		more, err := syscall.Read(fd, text[n:])
		switch n += max(more, 0); {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case more == 0 || n == int(st.Size):
			return text[:n], nil
		case n > int(st.Size):
			return nil, errUnread // it grows
		}
	}
}
