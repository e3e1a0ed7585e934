// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outfile writes files in one step. A reader sees the old content or
// all of the new content, even after a crash or on a full disk.
package outfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Resolve returns the path, without links, of a file that the user wants to
// write. If name is a link, it is the path that the link leads to. Resolve
// refuses anything except a regular file, because Write would replace it. Root
// could even replace /dev/null.
func Resolve(name string) (string, error) {
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		what := map[bool]string{true: "a folder", false: "no regular file"}[info.IsDir()]
		return "", fmt.Errorf("%s is %s, and would be replaced: name another file", name, what)
	case !errors.Is(err, fs.ErrNotExist):
		resolved, linkErr := filepath.EvalSymlinks(name)
		return resolved, cmp.Or(err, linkErr)
	}
	if to, err := os.Readlink(name); err == nil {
		return "", fmt.Errorf("%s is a link to %s, which does not exist: remove the link, or choose another name", name, to)
	}
	dir, base := filepath.Split(name)
	dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no folder %s: create it, or choose another folder", filepath.Dir(name))
	}
	return filepath.Join(dir, base), err
}

// tempPattern matches the names of temporary files, for os.CreateTemp and for
// filepath.Match. A killed process leaves its file.
const tempPattern = ".regometer-*.tmp"

// A File is a file that is being written. No reader sees it until Commit.
type File struct {
	*os.File
	name string
}

// Create begins a file that Commit will put at name, instead of the old file.
// The caller resolves a name that the user gave: see [Resolve].
func Create(name string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), tempPattern)
	if err != nil {
		return nil, err
	}
	return &File{f, name}, nil
}

// Commit puts the file in its place, with these permissions. If Commit fails,
// the old file stays.
func (f *File) Commit(mode fs.FileMode) error {
	err := errors.Join(f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		f.Discard()
	}
	return err
}

// Replace is Commit with the permissions of the old file, or 0644.
func (f *File) Replace() error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(f.name); err == nil {
		mode = info.Mode().Perm()
	}
	return f.Commit(mode)
}

// Discard removes the file unless it was committed. The old file stays.
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

// Head returns the first kilobyte of a file, which tells what kind of file a
// new one would replace. It returns less if the file is shorter or cannot be
// read.
func Head(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	return string(head)
}
