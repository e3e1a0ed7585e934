// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// setDefault makes the kernel itself end the process by these signals.
//
// What os/signal calls the default is a handler still, which sends the signal
// again: one that another thread handles while this one is in an exec ends with
// its thread, and the signal is lost. The kernel's default has no such moment:
// a signal ends the process when it is sent or is there for the program after
// it.
func setDefault(signals []os.Signal) {
	var action [64]byte // a struct sigaction, whose zero is SIG_DFL on all architectures
	const setSize = 8   // of the mask in it
	for _, s := range signals {
		if number, ok := s.(syscall.Signal); ok {
			// Where the size is another one, Go's default stays.
			_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
		}
	}
}
