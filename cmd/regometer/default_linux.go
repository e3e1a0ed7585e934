// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// setDefault makes the kernel end the process when one of these signals
// arrives.
//
// The default of os/signal is still a handler, which sends the signal again. If
// another thread runs the handler during an exec, the thread ends and the
// signal is lost. The kernel's default loses no signal: the signal ends the
// process, or waits for the program that replaces it.
func setDefault(signals []os.Signal) {
	var action [64]byte // a struct sigaction; its zero value is SIG_DFL on all architectures
	const setSize = 8   // of the mask in it
	for _, s := range signals {
		if number, ok := s.(syscall.Signal); ok {
			// Where the size differs, Go's default stays.
			_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
		}
	}
}
