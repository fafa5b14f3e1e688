package door

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// suffix ends the name of every socket.
const suffix = ".sock"

// Door is one server's socket.
type Door struct {
	path  string
	l     *net.UnixListener
	done  func() // of the listener's address
	guard int

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	work   sync.WaitGroup
}

// Listen makes the folder and a socket in it, and removes sockets that servers
// left behind. guard is the process id of this server's guard, which sessions'
// processes fall to when they lose their parents; 0: none. The error names the
// folder or socket and what is wrong with it.
func Listen(dir string, guard int) (*Door, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("door %s: %w", dir, err)
	}
	if err := private(dir, true); err != nil {
		return nil, err
	}
	sweep(dir)
	var b [6]byte
	rand.Read(b[:]) // never fails since Go 1.24
	path := filepath.Join(dir, fmt.Sprintf("%d-%s%s", os.Getpid(), hex.EncodeToString(b[:]), suffix))
	address, done, err := address(path)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		done()
		return nil, fmt.Errorf("door %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it knows another name of the socket; close removes it
	d := &Door{path: path, l: l, done: done, guard: guard, conns: make(map[net.Conn]bool)}
	if err := os.Chmod(path, 0o600); err != nil {
		d.Close()
		return nil, fmt.Errorf("door %s: %w", path, err)
	}
	return d, nil
}

// Path is where the socket lies.
func (d *Door) Path() string { return d.path }

// Serve lets peers in until Close. Each connection has one goroutine, which
// ends with it, and all end with Close.
func (d *Door) Serve(h Handler) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for {
		conn, err := d.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond) // out of files, mostly: others may end
			continue
		}
		if !d.enter(conn) {
			conn.Close()
			continue
		}
		go func() { // ends with the connection
			defer d.leave(conn)
			d.serve(ctx, conn, h)
		}()
	}
}

func (d *Door) enter(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.conns) >= maxPeers {
		return false
	}
	d.conns[conn] = true
	d.work.Add(1)
	return true
}

func (d *Door) leave(conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	delete(d.conns, conn)
	d.mu.Unlock()
	d.work.Done()
}

// Close ends the door and every connection; it returns when none is left. It
// may be called twice.
func (d *Door) Close() error {
	d.mu.Lock()
	was := d.closed
	d.closed = true
	for conn := range d.conns {
		conn.Close()
	}
	d.mu.Unlock()
	if was {
		return nil
	}
	err := d.l.Close()
	os.Remove(d.path)
	d.done()
	d.work.Wait()
	return err
}

// staleAfter is the age from which a socket that nobody serves is removed: a
// younger one may be about to be served.
const staleAfter = 10 * time.Second

// sweep removes the sockets of servers that are gone.
func sweep(dir string) {
	for _, path := range list(dir) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSocket == 0 || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		conn, err := dial(context.Background(), path)
		if err == nil {
			conn.Close()
		} else if refused(err) {
			os.Remove(path)
		}
	}
}

// list names the sockets of a folder.
func list(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}
