// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outfile writes files in one step: whoever opens one sees the old
// content or all of the new one, also after a crash or on a full disk.
package outfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Resolve returns where to write a file that the user named: there or, if it
// is a link, where the link leads to. What is there and is no regular file is
// refused, since a file would be put in its place: root may do that to
// /dev/null too. The path that it returns has no links.
func Resolve(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return resolveNew(name)
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is %s, and would be replaced: name another file", name, Kind(info.Mode()))
	}
	return filepath.EvalSymlinks(name)
}

// ResolveFolder is Resolve for a folder.
func ResolveFolder(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return resolveNew(strings.TrimRight(name, `/\`))
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is %s, not a folder: name another one", name, Kind(info.Mode()))
	}
	return filepath.EvalSymlinks(name)
}

// resolveNew resolves the name of what is not there.
func resolveNew(name string) (string, error) {
	if to, err := os.Readlink(name); err == nil {
		return "", fmt.Errorf("%s is a link to %s, which is not there: remove the link, or choose another name", name, to)
	}
	dir, base := filepath.Split(name)
	dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no folder %s: create it, or choose another one", filepath.Dir(name))
	}
	return filepath.Join(dir, base), err
}

// Kind says what a file is, by its mode.
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
	return "a file"
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
