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
	"testing"
	"testing/synctest"
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
