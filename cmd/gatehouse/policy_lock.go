package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Bounds of waiting for another command that writes the same rules.
const (
	lockPatience = 10 * time.Second
	lockEvery    = 50 * time.Millisecond
)

// errLocked is a lock that somebody else holds.
var errLocked = errors.New("locked")

// lock keeps other commands from writing the daily rules until unlock is called.
// It makes the folder. The lock's file stays, so that nobody can hold one that
// was removed; its name begins with a dot, which policies never do.
func (p dailyPlace) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwner(p.folder); err != nil {
		return nil, err
	}
	path := filepath.Join(p.folder, ".rules.lock")
	for until := time.Now().Add(lockPatience); ; {
		unlock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("another command has been writing %s for %s (it holds %s); try again; nothing was written", p.data, lockPatience, path)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}
