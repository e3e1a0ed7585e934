// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metricstest checks that an implementation of the metrics interface
// of Open Policy Agent (OPA) behaves as OPA's own does. The implementation may
// be package github.com/regometer/regometer/metrics, OPA's v1/metrics, or a
// wrapper of one of them in your own code.
//
// The interfaces of the two packages are different types. The functions here
// are generic, so they accept both:
//
//	func TestConformance(t *testing.T) {
//		metricstest.Run(t, mymetrics.New)
//	}
//
// Each behaviour is a subtest. A subtest that fails also prints its rule.
package metricstest

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/regometer/regometer/metrics"
)

// Collection is the method set of a Metrics interface of either package. I is
// the type of Info's result. It has a field Name.
type Collection[I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter] interface {
	Info() I
	Timer(name string) T
	Histogram(name string) H
	Counter(name string) C
	All() map[string]any
	Clear()
	json.Marshaler
}

// Run checks every behaviour of a collection, each in a subtest with
// collections of its own. newCollection must return a new, empty collection.
// Several goroutines call it.
//
// A collection need not have the methods String and Timers. If it has them, Run
// checks them too. Timers must read the clock of package time, because most
// checks run in the virtual time of testing/synctest.
//
// The checks of the sample are statistical. A correct implementation fails them
// less often than once in a million runs.
func Run[M Collection[I, T, H, C], I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter](t *testing.T, newCollection func() M) {
	adapted := func() collection { return adapter[M, I, T, H, C]{newCollection()} }
	run(t, adapted, synctest.Test, slices.Concat(behaviours, sampleBehaviours(), commonBehaviours))
	run(t, adapted, inRealTime, realTimeBehaviours)
}

// RunNoOp checks a collection that records nothing, as OPA's NoOp.
func RunNoOp[M Collection[I, T, H, C], I any, T metrics.Timer, H metrics.Histogram, C metrics.Counter](t *testing.T, noOp func() M) {
	adapted := func() collection { return adapter[M, I, T, H, C]{noOp()} }
	run(t, adapted, synctest.Test, slices.Concat(noOpBehaviours, commonBehaviours))
}

// behaviour is a row of the tables.
type behaviour struct {
	name  string // of the subtest
	rule  string // the behaviour in words
	check func(s *script)
}

func inRealTime(t *testing.T, check func(t *testing.T)) { check(t) }

// run checks the behaviours in a table. in runs each check.
func run(t *testing.T, newCollection func() collection, in func(*testing.T, func(*testing.T)), table []behaviour) {
	for _, b := range table {
		t.Run(b.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log("rule: " + b.rule)
				}
			}()
			in(t, func(t *testing.T) { b.check(newScript(t, newCollection)) })
		})
	}
}

// collection has the methods of an implementation's collection, with the types
// of package metrics.
type collection interface {
	Timer(name string) metrics.Timer
	Histogram(name string) metrics.Histogram
	Counter(name string) metrics.Counter
	All() map[string]any
	Clear()
	json.Marshaler
	info() any   // the result of Info
	unwrap() any // the implementation's own value
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
