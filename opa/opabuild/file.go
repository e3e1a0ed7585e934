// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile writes a file in one step: whoever opens name sees the old
// content or all of the new one, also after a crash.
func writeFile(name string, content []byte) error {
	return writeFrom(name, bytes.NewReader(content), 0o644)
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

func writeFrom(name string, content io.Reader, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
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
