// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package prom exports a rollup to Prometheus: a prometheus.Collector with the
// durations of each stage of a policy decision, by decision path, and what the
// decisions came to.
//
//	decisions, err := rollup.New(rollup.Options{})
//	collector, err := prom.NewCollector(decisions, prom.Options{})
//	registry.MustRegister(collector)
//
// # Metrics
//
// With the default namespace:
//
//	opa_decision_stage_duration_seconds{path,stage}    histogram  durations
//	opa_decision_stage_self_seconds_total{path,stage}  counter    time without the stages contained
//	opa_decisions_total{outcome,path}                  counter    decisions
//	opa_decision_events_total{event,path}              counter    OPA's counters
//	opa_decision_stage_unfinished_total{stage}         counter    timers of 0, which are no durations
//	opa_decision_label_overflow_total{kind}            counter    what is under the label "other" for want of room
//	opa_decision_values_invalid_total{reason}          counter    values left out
//	opa_decision_metric_series                         gauge      how many series all these are in text
//
// A stage is a timer of OPA's without "timer_" and "_ns", an event a counter
// without "counter_". Stages contain one another, so only self times may be
// added up over stages. The kinds of overflow are those of rollup.Overflow:
// path, stage and event for names beyond the limit of names, stage_of_path and
// event_of_path for cells beyond the limit of series.
//
// A path has all its outcomes from its first decision on, those that have not
// happened as 0: increase and rate miss the first event of a series that begins
// with it, and a ratio needs both its sides. Histograms have no such need and
// begin with their first duration. Counters are float64 in Prometheus, exact up
// to 2^53.
//
// # Histograms
//
// Each histogram is native and classic at once. A scrape by protobuf has the
// exponential buckets just as they were counted, so the histograms of any
// number of servers add up without loss; a scrape in text has the classic ones.
// Prometheus 3 takes the native ones with scrape_native_histograms: true. Count
// and sum are exact in both, and so is each classic bucket, since its bound is
// also one of the exponential buckets (see Options.ClassicBuckets).
//
// The bridge that carries a Prometheus registry to OTLP judges a family by its
// first series. All series here have a zero threshold above 0 and at least one
// duration, so they arrive as exponential histograms. The created timestamp is
// the start of the process, OTLP's start time.
//
// # Performance considerations
//
// Recording never waits for a scrape: Collect copies the rollup first and then
// works on its copy, however slow the reader. The copy's memory serves the next
// scrape again; what a scrape returns is new memory, in few and large blocks,
// since a registry hands it on. How many series there can be is bounded by the
// rollup's limits: see MaxSeries.
//
// BenchmarkScrape measures a whole scrape of 100 histograms, text and protobuf,
// BenchmarkCollect the part of this package:
//
//	go test -run '^$' -bench . -benchmem ./prom
package prom
