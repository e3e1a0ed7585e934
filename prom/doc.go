// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package prom exports a rollup to Prometheus. Its prometheus.Collector has the
// durations of each stage of a policy decision, over all decisions and by path,
// and the outcomes of the decisions.
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
//	opa_decision_stage_self_seconds_total{stage}       counter    time without the contained stages
//	opa_decision_path_duration_seconds{path,stage}     histogram  durations of the stages kept by path
//	opa_decision_path_self_seconds_total{path,stage}   counter    their time without one another
//	opa_decision_counters_total{counter}               counter    OPA's counters
//	opa_decision_stage_unfinished_total{cause,stage}   counter    timers of 0, which are not durations
//	opa_decision_label_overflow_total{kind}            counter    values without a label of their own
//	opa_decision_values_invalid_total{reason}          counter    values left out
//	opa_decision_metric_series                         gauge      number of all these series in text
//
// A stage is an OPA timer without "timer_" and "_ns". Stages contain one
// another, so only self times may be added up over stages. No family has a
// total beside its parts: values by path have their own families. The kinds of
// overflow are those of rollup.Overflow: path, stage and counter.
//
// A path has all outcomes from its first decision on, including those that are
// 0, because increase and rate miss the first event of a series that begins
// with it, and a ratio needs both sides. Histograms do not need this, and begin
// with their first duration. Counters are float64 in Prometheus, exact up to
// 2^53.
//
// # Histograms
//
// Each histogram is native and classic at once. A scrape by protobuf has the
// exponential buckets unchanged, so the histograms of any number of servers add
// up without loss. A scrape by text has the classic buckets. Prometheus 3 takes
// the native ones with scrape_native_histograms: true. Count and sum are exact
// in both, and so is each classic bucket: its bound in seconds is one of the
// rollup's explicit bounds (see Bounds). For a rollup without bounds, a scrape
// by text has only counts and sums.
//
// The bridge from a Prometheus registry to OTLP judges a family by its first
// series. All series here have a zero threshold above 0 and at least one
// duration, so they arrive as exponential histograms. The created timestamp is
// the start of the process, which is OTLP's start time.
//
// # Performance considerations
//
// Recording never waits for a scrape: Collect copies the rollup first, and then
// works on its copy, even if the reader is slow. The next scrape uses the
// copy's memory again. A scrape returns new memory, in few large blocks,
// because a registry hands it on. The rollup's limits also limit the number of
// series: see MaxSeries.
//
// BenchmarkScrape measures a whole scrape of 100 histograms, by text and by
// protobuf. BenchmarkCollect measures the part of this package:
//
//	go test -run '^$' -bench . -benchmem ./prom
package prom
