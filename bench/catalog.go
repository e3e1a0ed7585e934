// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures Regometer beside Open Policy Agent's own metrics
// package. The benchmarks are named case=…/goroutines=…/impl=…, so that
// benchstat -col /impl compares the two sides; impl=floor is the least that
// any implementation of the case has to do on the machine.
//
// Command benchtable runs them and writes docs/performance.md.
package bench

// Row is one case of the catalogue.
type Row struct {
	Name       string // of the benchmark: case=Name
	Title      string // what is measured, for people
	Group      string // the table that it stands in
	Goroutines []int  // the numbers of goroutines it is measured with
	// Target holds for TargetGoroutines, nil if there is none.
	Target           *Target
	TargetGoroutines int
}

// Target is what a row must reach. Ratios are Regometer's figure divided by
// OPA's of the same run.
type Target struct {
	Time   float64 // highest ratio of time, 0 for none
	Bytes  float64 // highest ratio of allocated bytes, negative for none
	Allocs int     // most allocations
	Floor  float64 // highest ratio of time to the floor's, 0 for none
}

// The groups, in the order in which they are shown.
const (
	Targets = "Cases with a target"
	Others  = "Other cases"
)

const noBytes = -1

var (
	one = []int{1}
	two = []int{1, 2}
)

// Rows is the catalogue, in the order in which it is measured and shown.
var Rows = []Row{
	target(one, "marshal_opa", "OPA's BenchmarkMetricsMarshaling: json.Marshal", Target{Time: 0.25, Allocs: 2, Bytes: 0.2}),
	target(one, "marshal_rotated", "30 counters, 30 histograms of 100 values: one update, MarshalJSON", Target{Time: 0.03, Allocs: 1, Bytes: 0.12}),
	target(one, "marshal_first", "10 histograms of 100 values: first MarshalJSON", Target{Time: 0.3, Allocs: 2, Bytes: 0.12}),
	target(one, "marshal_updated", "OPA's 30 metrics, updated on and on: MarshalJSON after each round", Target{Time: 0.05, Allocs: 1, Bytes: 0.1}),
	target(one, "marshal_unchanged", "OPA's 30 metrics: unchanged, MarshalJSON", Target{Time: 0.015, Allocs: 1, Bytes: 0.1}),
	target(one, "append_opa", "OPA's 30 metrics: AppendJSON", Target{}),
	target(one, "append_rotated", "30 counters, 30 histograms: one update, AppendJSON", Target{}),
	target(one, "append_first", "10 histograms: first AppendJSON", Target{}),
	target(one, "append_updated", "OPA's 30 metrics, updated on and on: AppendJSON after each round", Target{}),
	target(one, "append_unchanged", "OPA's 30 metrics: unchanged, AppendJSON", Target{}),
	target(one, "timer_restart", "OPA's BenchmarkMetricsTimerStartStopRestart", Target{Time: 0.48, Floor: 1.35, Bytes: noBytes}),
	target(two, "request", "A request: New, 4 timers, 1 counter", Target{Time: 0.38, Allocs: 1, Bytes: 0.25}),
	target(two, "request_all", "A request, then All", Target{Time: 0.40, Allocs: 4, Bytes: 0.45}),
	target(one, "unknown_all", "9 timers and 3 counters of unknown names, then All", Target{Time: 0.52, Allocs: 7, Bytes: 0.5}),
	target(two, "request_json", "A request, then MarshalJSON", Target{Time: 0.2, Allocs: 2, Bytes: 0.2}),
	target(two, "instrumented_all", "A request with 5 instrumented operations × 40, then All", Target{Time: 0.43, Allocs: 37, Bytes: 0.12}),
	target(two, "update_full", "Histogram.Update, full reservoir", Target{Time: 0.27, Floor: 1.1, Bytes: noBytes}),
	target(one, "statistics", "Statistics of 1,000 numbers", Target{Time: 0.06, Allocs: 5, Bytes: 0.04}),
	shared("by_name_counter", "One collection, by name: Counter.Incr", 0.47),
	shared("by_name_timer", "One collection, by name: Timer.Start and Stop", 0.4),
	shared("by_name_update", "One collection, by name: Histogram.Update", 0.27),

	other(two, "own_counter", "One collection, each its own counter, by name: Incr"),
	other(two, "own_timer", "One collection, each its own timer, by name: Start and Stop"),
	other(two, "own_update", "One collection, each its own histogram, by name: Update"),
	other(two, "timer_handle", "Timer.Start and Stop, handle kept"),
	other(two, "own_timer_handle", "One collection, each its own timer, handle kept: Start and Stop"),
	other(one, "instrumented_own", "A request with 5 instrumented operations of other names × 40, then All"),
	other(one, "new_unread", "New, nothing recorded"),
	other(one, "first_lookup", "New, 8 timers of new names"),
	other(one, "fresh_10000", "New, 10,000 counters of new names"),
	other(one, "clear", "Clear, then look up 4 timers and 1 counter"),
	other(two, "lookup_100", "Counter.Incr, scattered over 100 names"),
	other(two, "lookup_1000", "Counter.Incr, scattered over 1,000 names"),
	other(two, "lookup_10000", "Counter.Incr, scattered over 10,000 names"),
	other(one, "fill", "A histogram's first 1,028 updates"),
	other(one, "update_accepted", "A histogram's next 1,028 updates: most enter the sample"),
	other(one, "full_marshal_1", "Full reservoir: 1 update, MarshalJSON"),
	other(one, "full_marshal_100", "Full reservoir: 100 updates, MarshalJSON"),
	other(one, "full_marshal_2000", "Full reservoir: 2,000 updates, MarshalJSON"),
	target(one, "scattered_updated", "10 metrics of each kind, 100 to 200 values: each updated once, MarshalJSON", Target{Time: 0.05, Allocs: 1, Bytes: 0.1}),
	other(one, "scattered_unchanged", "10 metrics of each kind, 100 scattered values: unchanged, MarshalJSON"),
	other(one, "full_updated", "10 metrics of each kind, full reservoirs: each updated once, MarshalJSON"),
	other(one, "full_append", "10 metrics of each kind, full reservoirs: each updated once, AppendJSON"),
	other(one, "all_histograms", "10 histograms of 100 values: All"),
	other(one, "string", "10 metrics of each kind: String"),
	other(one, "timers", "10 metrics of each kind: Timers"),
	other(one, "noop", "NoOp: 2 timers, 1 counter, 1 histogram"),
}

func target(goroutines []int, name, title string, t Target) Row {
	return Row{Name: name, Title: title, Group: Targets, Goroutines: goroutines, Target: &t, TargetGoroutines: 1}
}

// shared is a row whose target holds for two goroutines.
func shared(name, title string, ratio float64) Row {
	return Row{Name: name, Title: title, Group: Targets, Goroutines: two, Target: &Target{Time: ratio, Bytes: noBytes}, TargetGoroutines: 2}
}

func other(goroutines []int, name, title string) Row {
	return Row{Name: name, Title: title, Group: Others, Goroutines: goroutines}
}
