// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// NoOp returns a [Metrics] that records nothing. Its All returns nil. Value of
// its timers and counters returns the int 0.
func NoOp() Metrics { return noOpInstance }

const noOpName = "<built-in no-op>"

type (
	noOpMetrics   struct{}
	noOpTimer     struct{}
	noOpHistogram struct{}
	noOpCounter   struct{}
)

// Each type has one instance, because two pointers to zero-size values may
// differ.
var (
	noOpInstance          = &noOpMetrics{}
	noOpTimerInstance     = &noOpTimer{}
	noOpHistogramInstance = &noOpHistogram{}
	noOpCounterInstance   = &noOpCounter{}
)

func (*noOpMetrics) Info() Info                 { return Info{Name: noOpName} }
func (*noOpMetrics) Timer(string) Timer         { return noOpTimerInstance }
func (*noOpMetrics) Histogram(string) Histogram { return noOpHistogramInstance }
func (*noOpMetrics) Counter(string) Counter     { return noOpCounterInstance }
func (*noOpMetrics) All() map[string]any        { return nil }
func (*noOpMetrics) Clear()                     {}

func (*noOpMetrics) MarshalJSON() ([]byte, error) {
	return []byte(`{"name": "` + noOpName + `"}`), nil
}

func (*noOpTimer) Start()       {}
func (*noOpTimer) Stop() int64  { return 0 }
func (*noOpTimer) Value() any   { return 0 }
func (*noOpTimer) Int64() int64 { return 0 }

func (*noOpHistogram) Update(int64) {}
func (*noOpHistogram) Value() any   { return nil }

func (*noOpCounter) Incr()        {}
func (*noOpCounter) Add(uint64)   {}
func (*noOpCounter) Value() any   { return 0 }
func (*noOpCounter) Int64() int64 { return 0 }
