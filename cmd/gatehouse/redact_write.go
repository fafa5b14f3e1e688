package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errChanged refuses to put an older text in the place of a newer one.
var errChanged = errors.New("it was changed meanwhile, so nothing was written; run it again")

// rewrite replaces a file by its covered text, all of it or nothing.
func (r *redaction) rewrite(ctx context.Context, name string, in *os.File) error {
	link, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !link.Mode().IsRegular() {
		return errors.New("a link; name the file it leads to")
	}
	was, err := in.Stat()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".gatehouse-redact-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone when all went well
	changed, err := r.through(ctx, name, in, f)
	if changed && err == nil {
		err = errors.Join(takeAfter(f, was), f.Sync())
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err != nil || !changed || ctx.Err() != nil {
		return err
	}
	if err := replaceable(name, was); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// takeAfter gives a new file the owner and the permissions of another.
func takeAfter(f *os.File, was fs.FileInfo) error {
	if err := keepOwner(f, was); err != nil {
		return fmt.Errorf("its owner cannot be kept, so nothing was written: %w", err)
	}
	return f.Chmod(was.Mode().Perm())
}

// replaceable refuses a file that is not the one that was read any more, and one
// whose text would stay under another name.
func replaceable(name string, was fs.FileInfo) error {
	now, err := os.Lstat(name)
	switch {
	case err != nil:
		return err
	case !os.SameFile(was, now) || !now.ModTime().Equal(was.ModTime()) || now.Size() != was.Size():
		return errChanged
	}
	if n := namesOf(now); n > 1 {
		return fmt.Errorf("it has %d names (hard links), and the others would keep the secrets, so nothing was written; gatehouse redact FILE > NEW makes a covered copy", n)
	}
	return nil
}
