// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metricstest checks that an implementation of the metrics interface
// of Open Policy Agent (OPA) behaves as OPA's own does. The implementation may
// be package github.com/regometer/regometer/metrics, OPA's v1/metrics, or a
// wrapper of one of them in your own code.
//
// The interfaces of the two packages are different types. Run takes the
// constructors of either:
//
//	func TestConformance(t *testing.T) {
//		metricstest.Run(t, mymetrics.New, mymetrics.NoOp, mymetrics.Statistics)
//	}
//
// Each behaviour is a subtest. A subtest that fails also prints its rule. Later
// releases may check more behaviours of OPA's package.
package metricstest

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/regometer/regometer/metrics"
)

// Run checks every behaviour of an implementation, each in a subtest with
// collections of its own. newCollection must return a new, empty collection, and
// noOp one that records nothing, as OPA's NoOp. Several goroutines call them. A
// collection has all methods of the Metrics interface of one of the packages.
// statistics summarizes numbers as a histogram does. Run leaves out a function
// that is nil.
//
// A collection need not have the methods String and Timers. If it has them, Run
// checks them too. Timers must read the clock of package time, because most
// checks run in the virtual time of testing/synctest.
//
// The check of the sample is statistical. A correct implementation never fails
// it in practice.
func Run[M methods](t *testing.T, newCollection, noOp func() M, statistics func(num ...int64) any) {
	if newCollection != nil {
		adapted := func() collection { return adapter{newCollection()} }
		run(t, adapted, synctest.Test, behaviours)
		run(t, adapted, inRealTime, realTimeBehaviours)
	}
	if noOp != nil {
		t.Run("NoOp", func(t *testing.T) {
			run(t, func() collection { return adapter{noOp()} }, synctest.Test, noOpBehaviours)
		})
	}
	if statistics != nil {
		t.Run("Statistics", func(t *testing.T) { checkStatistics(t, statistics) })
	}
}

// methods are the methods that have the same types in both packages.
type methods interface {
	All() map[string]any
	Clear()
	json.Marshaler
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

// adapter calls the other methods by their names.
type adapter struct{ methods }

func (a adapter) call(method string, arguments ...any) any {
	in := make([]reflect.Value, len(arguments))
	for i := range arguments {
		in[i] = reflect.ValueOf(arguments[i])
	}
	return reflect.ValueOf(a.methods).MethodByName(method).Call(in)[0].Interface()
}

func (a adapter) Timer(name string) metrics.Timer { return a.call("Timer", name).(metrics.Timer) }
func (a adapter) Histogram(name string) metrics.Histogram {
	return a.call("Histogram", name).(metrics.Histogram)
}
func (a adapter) Counter(name string) metrics.Counter {
	return a.call("Counter", name).(metrics.Counter)
}
func (a adapter) info() any   { return a.call("Info") }
func (a adapter) unwrap() any { return a.methods }
