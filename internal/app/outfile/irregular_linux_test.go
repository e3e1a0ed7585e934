// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// makeIrregular makes a named pipe and, where that is allowed, a device of its
// own: the one of /dev/null, which no test may come near. It returns what each
// is said to be.
func makeIrregular(t *testing.T) map[string]string {
	t.Helper()
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{"pipe": "is a named pipe"}
	const null = 1<<8 | 3
	switch err := syscall.Mknod("device", syscall.S_IFCHR|0o666, null); {
	case err == nil:
		made["device"] = "is a device"
		if err := os.Symlink("device", "todevice"); err != nil {
			t.Fatal(err)
		}
		made["todevice"] = "is a device"
	case !errors.Is(err, fs.ErrPermission):
		t.Fatal(err)
	}
	return made
}
