// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file whole or not at all.
func ReplaceFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(text)
	if err := cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
