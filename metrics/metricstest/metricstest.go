// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metricstest checks that an implementation of the metrics interface
// of Open Policy Agent behaves as OPA's own does: package
// github.com/regometer/regometer/metrics, OPA's v1/metrics, or a wrapper of
// one of them in your own code.
//
// The interfaces of the two packages are different types. The functions here
// are generic, so that either is accepted as it is:
//
//	func TestConformance(t *testing.T) {
//		metricstest.Run(t, mymetrics.New)
//	}
//
// Every behaviour is a subtest. One that fails also prints the rule that it
// checks.
package metricstest

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/regometer/regometer/metrics"
)

// Collection is the method set of a Metrics interface, whichever package its
// result types are from. I is the type of Info's result and has a field Name.
type Collection[I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter] interface {
	Info() I
	Timer(name string) T
	Histogram(name string) H
	Counter(name string) C
	All() map[string]any
	Clear()
	json.Marshaler
}

// Run checks every behaviour, each in a subtest with collections of its own.
// newCollection returns a new, empty collection; it is called from several
// goroutines.
//
// The String method and the Timers method are optional: where a collection has
// none, the subtests about it are skipped. Timers are expected to read the
// clock of package time, as the checks of durations run in the virtual time of
// testing/synctest.
//
// The checks of the decaying sample are statistical: a right implementation
// fails them less often than once in a million runs.
func Run[M Collection[I, T, H, C], I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter](t *testing.T, newCollection func() M) {
	runAll(t, func() collection { return adapter[M, I, T, H, C]{newCollection()} },
		nameBehaviours, timerBehaviours, counterBehaviours, histogramBehaviours,
		sampleBehaviours, textBehaviours, logBehaviours, concurrencyBehaviours)
}

// RunNoOp checks a collection that records nothing, as OPA's NoOp.
func RunNoOp[M Collection[I, T, H, C], I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter](t *testing.T, noOp func() M) {
	runAll(t, func() collection { return adapter[M, I, T, H, C]{noOp()} }, noOpBehaviours, logBehaviours)
}

// behaviour is one entry of the table.
type behaviour struct {
	name string // of the subtest
	rule string // what an implementation has to do, in words
	// virtualTime runs the check in a synctest bubble.
	virtualTime bool
	check       func(t *testing.T, newCollection func() collection)
}

func runAll(t *testing.T, newCollection func() collection, tables ...[]behaviour) {
	t.Helper()
	for _, table := range tables {
		for _, b := range table {
			t.Run(b.name, func(t *testing.T) {
				defer func() {
					if t.Failed() {
						t.Log("rule: " + b.rule)
					}
				}()
				if b.virtualTime {
					synctest.Test(t, func(t *testing.T) { b.check(t, newCollection) })
				} else {
					b.check(t, newCollection)
				}
			})
		}
	}
}

// collection is what the checks see of an implementation.
type collection interface {
	Timer(name string) metrics.Timer
	Histogram(name string) metrics.Histogram
	Counter(name string) metrics.Counter
	All() map[string]any
	Clear()
	json.Marshaler
	// info is what Info returns.
	info() any
	// unwrap returns the implementation's own value.
	unwrap() any
}

type adapter[M Collection[I, T, H, C], I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter] struct {
	m M
}

func (a adapter[M, I, T, H, C]) Timer(name string) metrics.Timer         { return a.m.Timer(name) }
func (a adapter[M, I, T, H, C]) Histogram(name string) metrics.Histogram { return a.m.Histogram(name) }
func (a adapter[M, I, T, H, C]) Counter(name string) metrics.Counter     { return a.m.Counter(name) }
func (a adapter[M, I, T, H, C]) All() map[string]any                     { return a.m.All() }
func (a adapter[M, I, T, H, C]) Clear()                                  { a.m.Clear() }
func (a adapter[M, I, T, H, C]) MarshalJSON() ([]byte, error)            { return a.m.MarshalJSON() }
func (a adapter[M, I, T, H, C]) info() any                               { return a.m.Info() }
func (a adapter[M, I, T, H, C]) unwrap() any                             { return a.m }
