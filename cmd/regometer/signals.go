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

type leaveKey struct{}

// untilSignal returns a context that the first signal cancels, so that the work
// stops in an orderly way. After that the system's defaults apply, so a second
// signal ends the process.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	// Signals that nohup or a background job ignores stay ignored.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	arrived, done := make(chan os.Signal, 1), make(chan struct{})
	if len(signals) > 0 { // Notify takes none for all
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
		setDefault(signals)
		signal.Stop(arrived) // waits for the signals that came before
		close(arrived)
		<-done
	}))
}

// leaveSignals gives the signals of [untilSignal] back to the system, which
// ends the process at once. It returns an error if a signal came before.
func leaveSignals(ctx context.Context) error {
	if leave, ok := ctx.Value(leaveKey{}).(func()); ok {
		leave()
	}
	return ctx.Err()
}
