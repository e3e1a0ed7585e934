// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Regometer in real systems: OPA servers built by `regometer
// build`, scraped by Prometheus and pushing to an OpenTelemetry Collector's
// receiver. It has only tests. Most of them run only if REGOMETER_E2E is set:
//
//	REGOMETER_E2E=1 go test ./...          # a few minutes, and a few more to build OPA
//	REGOMETER_E2E=1 go test -short ./...   # the same tests with less load
//
// REGOMETER_E2E may also be the path of an opa binary to test. The first run
// builds promtool, which tests the rules.
//
// go.work does not list this module: Prometheus and the Collector need newer
// versions of some modules than OPA, and the workspace would move OPA's. OPA
// itself needs a newer github.com/gobwas/glob than the Collector can have, so
// extauthz, which has OPA inside, is a module of its own.
package e2e
