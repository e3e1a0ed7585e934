// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Regometer in real systems: OPA servers built by `regometer
// build`, scraped by Prometheus and pushing to an OpenTelemetry Collector's
// receiver. It holds nothing but tests. They run if REGOMETER_E2E is set:
//
//	REGOMETER_E2E=1 go test ./...          # a few minutes, and as many to build OPA
//	REGOMETER_E2E=1 go test -short ./...   # the same with less load and without promtool
//
// REGOMETER_E2E may also be the path of an opa binary that is to be tested.
//
// The pictures in docs/operating are drawn from what Prometheus has scraped, by
//
//	REGOMETER_E2E=1 go test -run TestFleet -update .
//
// This module is not listed in go.work: Prometheus and the Collector need newer
// versions of some modules than OPA, and the workspace would move OPA's.
package e2e
