// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// A signalError says which signal cancelled a context.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// interruptedStatus returns the exit status of a command whose context was
// cancelled: 128 plus the signal's number, as in shells.
func interruptedStatus(ctx context.Context) int {
	var e signalError
	if errors.As(context.Cause(ctx), &e) {
		if number, ok := e.signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
	}
	return exitInterrupted
}

// untilSignal returns a context that the first signal cancels, so that the work
// stops in an orderly way. After that the system's defaults apply, so a second
// signal ends the process.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	// Signals that nohup or a background job ignores stay ignored.
	list := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	arrived := make(chan os.Signal, 1)
	if len(list) > 0 { // Notify takes none for all
		signal.Notify(arrived, list...)
	}
	go func() {
		s := <-arrived
		signal.Stop(arrived)
		cancel(signalError{s})
	}()
	return ctx
}
