// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages measures the way from a decision to a scrape: the histogram
// beside those of client_golang, VictoriaMetrics and OpenTelemetry, the rollup,
// and the plugin. It also tests what OpenTelemetry's bridge, which OPA's
// metrics_export uses, makes of package prom. The package is apart from prom,
// so importers of prom do not get OpenTelemetry's versions.
//
//	go test -run '^$' -bench . -count 10 ./bench/stages | tee new.txt
//	go tool benchstat -col /impl new.txt
package stages
