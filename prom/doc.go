// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package prom exports a rollup to Prometheus: a prometheus.Collector with the
// durations of each stage of a policy decision, over all decisions and by path,
// and what the decisions came to.
//
//	decisions, err := rollup.New(rollup.Options{Bounds: prom.DefaultBounds()})
//	collector, err := prom.NewCollector(decisions, prom.Options{})
//	registry.MustRegister(collector)
//
// # Metrics
//
// With the default namespace:
//
//	opa_decisions_total{outcome,path}                  counter    decisions
//	opa_decision_errors_total{code}                    counter    decisions that failed
//	opa_decision_stage_duration_seconds{stage}         histogram  durations
//	opa_decision_stage_self_seconds_total{stage}       counter    time without the stages contained
//	opa_decision_path_duration_seconds{path,stage}     histogram  durations of the stages kept by path
//	opa_decision_path_self_seconds_total{path,stage}   counter    their time without one another
//	opa_decision_counters_total{counter}               counter    OPA's counters
//	opa_decision_stage_unfinished_total{cause,stage}   counter    timers of 0, which are no durations
//	opa_decision_label_overflow_total{kind}            counter    what has no label of its own for want of room
//	opa_decision_values_invalid_total{reason}          counter    values left out
//	opa_decision_metric_series                         gauge      how many series all these are in text
//
// A stage is a timer of OPA's without "timer_" and "_ns". Stages contain one
// another, so only self times may be added up over stages. No family holds a
// total beside its parts: what is told apart by path has families of its own.
// The kinds of overflow are those of rollup.Overflow: path, stage and counter.
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
// and sum are exact in both, and so is each classic bucket: its bound, in
// seconds as it was given, is one of the rollup's explicit bounds (see Bounds).
// A rollup without bounds has none, and a scrape in text then has counts and
// sums alone.
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
