// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outfile writes files in one step. A reader sees the old content or
// all of the new content, even after a crash or on a full disk.
package outfile

import (
	"bufio"
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

// Check returns an error if no file can be written in the folder of a name.
func Check(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), tempPattern)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteFrom writes a file with these permissions, or if mode is 0 with those of the
// old file. If it fails, the old file stays. The caller resolves a name that the
// user gave: see [Resolve].
func WriteFrom(name string, mode fs.FileMode, content func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), tempPattern)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	defer f.Close()
	if info, err := os.Stat(name); err == nil && mode == 0 {
		mode = info.Mode().Perm()
	}
	w := bufio.NewWriter(f)
	if err := cmp.Or(content(w), w.Flush(), f.Chmod(cmp.Or(mode, 0o644)), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Write writes a file with this content.
func Write(name string, content []byte) error {
	return WriteFrom(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
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
