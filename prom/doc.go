// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package prom exports a rollup to Prometheus. Its prometheus.Collector exports
// the outcomes of policy decisions and the durations of their stages, over all
// decisions and by path.
//
//	decisions, err := rollup.New(rollup.Options{Bounds: prom.DefaultBounds()})
//	collector, err := prom.NewCollector(decisions, prom.Options{})
//	registry.MustRegister(collector)
//
// # Metrics
//
// With the default namespace, the metrics are:
//
//	opa_decisions_total{outcome,path}                  counter    decisions
//	opa_decision_errors_total{code}                    counter    decisions that failed
//	opa_decision_stage_duration_seconds{stage}         histogram  durations
//	opa_decision_stage_self_seconds_total{stage}       counter    time without the contained stages
//	opa_decision_path_duration_seconds{path,stage}     histogram  durations of the stages kept by path
//	opa_decision_path_self_seconds_total{path,stage}   counter    their time without one another
//	opa_decision_counters_total{counter}               counter    OPA's counters
//	opa_decision_stage_unfinished_total{cause,stage}   counter    timers of 0, which are not durations
//	opa_decision_label_overflow_total{kind}            counter    values without a label of their own
//	opa_decision_values_invalid_total{reason}          counter    values left out
//	opa_decision_metric_series                         gauge      number of all these series in text
//
// A stage has the name of OPA's timer, without "timer_" and "_ns". Stages
// contain one another, so only self times may be added up over stages. No
// family has both a total and its parts, because values by path have their own
// families. The kinds of overflow are path, stage and counter, as in
// rollup.Overflow.
//
// From its first decision on, a path has series for all outcomes, even if they
// are 0. Otherwise, increase and rate would miss the first event of a series,
// and ratios would lack one side. Histograms begin with their first duration.
// Counters are float64 in Prometheus, and exact up to 2^53.
//
// # Histograms
//
// Each histogram is both native and classic. A scrape by protobuf has the
// unchanged exponential buckets, so the histograms of any number of servers add
// up without loss. A scrape by text has the classic buckets. Prometheus 3
// stores the native histograms if scrape_native_histograms is true. Count and
// sum are exact in both. Each classic bucket is exact too, because its bound in
// seconds is one of the rollup's explicit bounds (see Bounds). For a rollup
// without bounds, a scrape by text has only counts and sums.
//
// The bridge from a Prometheus registry to OTLP looks at a family's first
// series to find out its kind. All series here have a zero threshold above 0
// and at least one duration, so they arrive as exponential histograms. The
// created timestamp, OTLP's start time, is the start of the process.
//
// # Performance considerations
//
// Collect works on a copy of the rollup, so decisions wait only while this is
// made. The next scrape uses the copy's memory again. The metrics of a scrape
// are new memory, in few large blocks, because a registry hands them on. The
// rollup's limits also limit the number of series, see MaxSeries.
//
// BenchmarkScrape measures a whole scrape of 100 histograms, by text and by
// protobuf. BenchmarkCollect measures the part of this package:
//
//	go test -run '^$' -bench . -benchmem ./prom
//
// Before 1.0, names of Go may change. A metric that is removed stays for one more
// minor release.
package prom
