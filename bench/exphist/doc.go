// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package exphist has benchmarks only: exphist beside the histograms with
// exponential buckets of client_golang, VictoriaMetrics and OpenTelemetry.
//
//	go test -run '^$' -bench . -count 10 ./bench/exphist | tee new.txt
//	benchstat -col /impl new.txt
//
// Each is used as its documentation says, and records the same latencies:
// ours as integers in nanoseconds, the others' as floating-point seconds.
// regometer_bounds is ours with eleven explicit bounds besides. Prometheus and
// OpenTelemetry are given the resolution and the limit of our default layout;
// VictoriaMetrics' buckets are what they are, 18 for each power of ten.
package exphist
