// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outputFile returns where to write a file that the user named: there or, if it
// is a link, where the link leads to. What is there and is no regular file is
// refused, since writeFrom would put a file in its place: root may do that to
// /dev/null too.
func outputFile(name string) (string, error) {
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
		return "", fmt.Errorf("%s is %s, and would be replaced: name another file", name, kindOf(info.Mode()))
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, err
	}
	return filepath.EvalSymlinks(name)
}

// kindOf says what a file that is no regular one is.
func kindOf(mode fs.FileMode) string {
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

// writeFile writes a file in one step: whoever opens name sees the old
// content or all of the new one, also after a crash.
func writeFile(name string, content []byte) error {
	return writeFrom(name, bytes.NewReader(content), 0o644)
}

// writeOutput writes a file that the user named.
func writeOutput(name string, content []byte) error {
	name, err := outputFile(name)
	if err != nil {
		return err
	}
	return writeFile(name, content)
}

// copyFile copies a file in one step.
func copyFile(to, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFrom(to, in, mode)
}

// tempPattern is what temporary files are called, for os.CreateTemp and for
// filepath.Match. A killed process leaves one behind.
const tempPattern = ".regometer-*.tmp"

// removeTemps removes the temporary files that were left in a folder.
func removeTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if ours, _ := filepath.Match(tempPattern, e.Name()); ours && e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func writeFrom(name string, content io.Reader, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), tempPattern)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
