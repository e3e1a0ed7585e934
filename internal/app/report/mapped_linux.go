// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"syscall"
)

// mapFile maps a file's bytes from one offset to another into memory, and
// returns what takes them away again. text is nil if that cannot be done.
//
// Mapped text is not copied. Its pages are brought in as they are met, which
// several workers can do at the same time: who asks for all of them at once
// (MAP_POPULATE) makes the others wait meanwhile.
func mapFile(f *os.File, from, to int64) (text []byte, unmap func()) {
	start := from &^ int64(os.Getpagesize()-1)
	mapped, err := syscall.Mmap(int(f.Fd()), start, int(to-start), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	return mapped[from-start:], func() { _ = syscall.Munmap(mapped) }
}
