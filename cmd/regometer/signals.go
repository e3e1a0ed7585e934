// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
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

// signalKey is the key of the *signals of a context from untilSignal.
type signalKey struct{}

type signals struct {
	leave func()
	taken atomic.Pointer[chan os.Signal] // gets the signals, if it is not nil
}

// untilSignal returns a context that the first signal cancels, so that the work
// stops in an orderly way. After that the system's defaults apply, so a second
// signal ends the process.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	// Signals that nohup or a background job ignores stay ignored.
	list := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	arrived, done := make(chan os.Signal, 1), make(chan struct{})
	if len(list) > 0 { // Notify takes none for all
		signal.Notify(arrived, list...)
	}
	var all signals
	go func() {
		defer close(done)
		for s := range arrived {
			if to := all.taken.Load(); to != nil {
				*to <- s
				continue
			}
			signal.Stop(arrived)
			cancel(signalError{s})
			return
		}
	}()
	all.leave = func() {
		signal.Stop(arrived) // waits for the signals that came before
		close(arrived)
		<-done
	}
	return context.WithValue(ctx, signalKey{}, &all)
}

// takeSignals returns a channel that gets the signals of [untilSignal], which
// then no longer cancel the context.
func takeSignals(ctx context.Context) <-chan os.Signal {
	taken := make(chan os.Signal)
	if all, ok := ctx.Value(signalKey{}).(*signals); ok {
		all.taken.Store(&taken)
	}
	return taken
}

// leaveSignals gives the signals of [untilSignal] back to the system, which
// ends the process at once. It returns an error if a signal came before. It
// must be called only once.
func leaveSignals(ctx context.Context) error {
	if all, ok := ctx.Value(signalKey{}).(*signals); ok {
		all.leave()
	}
	return ctx.Err()
}
