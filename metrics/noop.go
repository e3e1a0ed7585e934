// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// NoOp returns a [Metrics] that records nothing and reports nothing: All
// returns nil, Value of a timer or a counter the int 0.
func NoOp() Metrics { return noOp{} }

const noOpName = "<built-in no-op>"

type (
	noOp          struct{}
	noOpTimer     struct{}
	noOpHistogram struct{}
	noOpCounter   struct{}
)

func (noOp) Info() Info                 { return Info{Name: noOpName} }
func (noOp) Timer(string) Timer         { return noOpTimer{} }
func (noOp) Histogram(string) Histogram { return noOpHistogram{} }
func (noOp) Counter(string) Counter     { return noOpCounter{} }
func (noOp) All() map[string]any        { return nil }
func (noOp) Clear()                     {}

func (noOp) MarshalJSON() ([]byte, error) {
	return []byte(`{"name": "` + noOpName + `"}`), nil
}

func (noOpTimer) Start()       {}
func (noOpTimer) Stop() int64  { return 0 }
func (noOpTimer) Value() any   { return 0 }
func (noOpTimer) Int64() int64 { return 0 }

func (noOpHistogram) Update(int64) {}
func (noOpHistogram) Value() any   { return nil }

func (noOpCounter) Incr()      {}
func (noOpCounter) Add(uint64) {}
func (noOpCounter) Value() any { return 0 }
