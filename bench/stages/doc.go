// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages measures the way from a decision to a scrape: the rollup, the
// plugin, and the histogram beside those of client_golang, VictoriaMetrics and
// OpenTelemetry.
//
//	go test -run '^$' -bench . -count 10 ./bench/stages | tee new.txt
//	go tool benchstat -col /impl new.txt
package stages
