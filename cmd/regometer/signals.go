// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// A signalError says which signal cancelled a context.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// interruptedStatus returns the exit status of a command whose context was
// cancelled, as shells have it: 128 and the signal's number.
func interruptedStatus(ctx context.Context) int {
	var e signalError
	if errors.As(context.Cause(ctx), &e) {
		if number, ok := e.signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
	}
	return exitInterrupted
}

type leaveKey struct{}

// untilSignal returns a context that the first signal which asks the process to
// end cancels, so that the work stops in an orderly way. From then on the
// system's defaults apply: a second one ends the process.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	// What is ignored stays so: nohup, or a shell's background job.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	arrived, done := make(chan os.Signal, 1), make(chan struct{})
	if len(signals) > 0 { // Notify takes none for all that there are
		signal.Notify(arrived, signals...)
	}
	go func() {
		defer close(done)
		if s, ok := <-arrived; ok {
			signal.Stop(arrived)
			cancel(signalError{s})
		}
	}()
	return context.WithValue(ctx, leaveKey{}, sync.OnceFunc(func() {
		signal.Stop(arrived) // sends what has come, and no more
		setDefault(signals)
		close(arrived)
		<-done
	}))
}

// leaveSignals gives the signals of [untilSignal] back to the system: from then
// on they end the process at once. The error tells of one that came before.
func leaveSignals(ctx context.Context) error {
	if leave, ok := ctx.Value(leaveKey{}).(func()); ok {
		leave()
	}
	return ctx.Err()
}
