// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"syscall"
)

// mapFile maps a file's bytes from one offset to another into memory. It
// returns the bytes and a function that unmaps them, or nil if it cannot map
// them.
//
// Mapped text is not copied. Its pages are loaded when they are read, which
// several workers can do at the same time. Loading all pages at once
// (MAP_POPULATE) would make the other workers wait.
func mapFile(f *os.File, from, to int64) (text []byte, unmap func()) {
	start := from &^ int64(os.Getpagesize()-1)
	mapped, err := syscall.Mmap(int(f.Fd()), start, int(to-start), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	return mapped[from-start:], func() { _ = syscall.Munmap(mapped) }
}
