package facts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
)

// maxGitIndex bounds how much of an index is read; in a longer one there may
// be repositories.
const maxGitIndex = 4 << 20

// Of an entry: the mode stands behind times, device and inode, the flags
// behind user, group, size and a SHA-1 name.
const (
	indexHeader   = 12
	indexMode     = 24
	indexFlags    = 60
	indexExtended = 0x4000
	modeGitlink   = 0o160000
)

// embeds reports whether the index of a repository names another repository
// below it, whose own configuration git would follow: status and diff look
// into it. It is true in every doubt, and false without an index.
func embeds(path string) bool {
	index, err := readSmall(path, maxGitIndex)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	links, err := gitlinks(index)
	return links || err != nil
}

var errIndex = errors.New("read the index of a repository: not understood")

// gitlinks looks for an entry of the mode of a repository. An index that is
// split over two files is not understood.
func gitlinks(index []byte) (bool, error) {
	if len(index) < indexHeader+20 || string(index[:4]) != "DIRC" {
		return false, errIndex
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return false, errIndex
	}
	at := indexHeader
	for range count {
		size, err := entrySize(index[at:], version)
		if err != nil {
			return false, err
		}
		if binary.BigEndian.Uint32(index[at+indexMode:]) == modeGitlink {
			return true, nil
		}
		at += size
	}
	return bytes.HasPrefix(index[at:], []byte("link")), nil
}

// entrySize is the length of the entry that index begins with.
func entrySize(index []byte, version uint32) (int, error) {
	name := indexFlags + 2
	if len(index) < name+2 {
		return 0, errIndex
	}
	if binary.BigEndian.Uint16(index[indexFlags:])&indexExtended != 0 {
		name += 2
	}
	if version == 4 { // how much of the name before is kept, in bytes of seven bits
		for name < len(index) && index[name]&0x80 != 0 {
			name++
		}
		name++
	}
	if name >= len(index) {
		return 0, errIndex
	}
	end := bytes.IndexByte(index[name:], 0)
	if end < 0 {
		return 0, errIndex
	}
	size := name + end + 1
	if version != 4 {
		size = (name + end + 8) &^ 7
	}
	if size > len(index) {
		return 0, errIndex
	}
	return size, nil
}
