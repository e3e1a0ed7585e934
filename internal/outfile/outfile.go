// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outfile writes files in one step: whoever opens one sees the old
// content or all of the new one, also after a crash or on a full disk.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Resolve returns where to write a file that the user named: there or, if it
// is a link, where the link leads to. What is there and is no regular file is
// refused, since a file would be put in its place: root may do that to
// /dev/null too.
func Resolve(name string) (string, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if to, err := os.Readlink(name); err == nil {
			return "", fmt.Errorf("%s is a link to %s, which is not there: remove the link, or name another file", name, to)
		}
		return name, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is %s, and would be replaced: name another file", name, Kind(info.Mode()))
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, err
	}
	return filepath.EvalSymlinks(name)
}

// Kind says what a file that is no regular one is.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// tempPattern is what temporary files are called, for os.CreateTemp and for
// filepath.Match. A killed process leaves one behind.
const tempPattern = ".regometer-*.tmp"

// RemoveTemps removes the temporary files that were left in a folder.
func RemoveTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if ours, _ := filepath.Match(tempPattern, e.Name()); ours && e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// A File is a file that is being written. Until it is committed nobody sees it.
type File struct {
	*os.File
	name string
}

// Create begins a file that Commit will put at name, in the place of what is
// there. Names that the user gave are resolved first: see [Resolve].
func Create(name string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), tempPattern)
	if err != nil {
		return nil, err
	}
	return &File{f, name}, nil
}

// Commit puts the file where it belongs, with these permissions. If it fails,
// what was there stays.
func (f *File) Commit(mode fs.FileMode) (err error) {
	defer func() {
		if err != nil {
			f.Discard()
		}
	}()
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.File.Name(), f.name)
}

// Replace is Commit with the permissions of the file that was there, or 0644.
func (f *File) Replace() error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(f.name); err == nil {
		mode = info.Mode().Perm()
	}
	return f.Commit(mode)
}

// Discard leaves what was there, unless the file was committed.
func (f *File) Discard() {
	_ = f.Close()
	_ = os.Remove(f.File.Name())
}

// Write writes a file with this content.
func Write(name string, content []byte) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit(0o644)
}

// Copy writes a file with the content of another one.
func Copy(name, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := io.Copy(f, in); err != nil {
		return err
	}
	return f.Commit(mode)
}
