// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Regometer in real systems: OPA servers built by `regometer
// build`, scraped by Prometheus and pushing to an OpenTelemetry Collector's
// receiver. It has only tests, which run with GOWORK=off. Most of them run only if
// REGOMETER_E2E is set:
//
//	REGOMETER_E2E=1 go test .          # a few minutes, and a few more to build OPA
//	REGOMETER_E2E=1 go test -short .   # the same tests with less load
//
// REGOMETER_E2E may also be the path of an opa binary to test. The first run
// builds promtool, which tests the rules.
//
// The tests of examples/kubernetes, charts/opa and docs/kubernetes.md need no
// cluster. This command applies everything to a real kube-apiserver, which its
// first run builds:
//
//	REGOMETER_APISERVER=1 go test . -run APIServer -timeout 0
//
// TestPage opens the page of a report in a real browser. It needs Chromium or
// Chrome on PATH, or its path in REGOMETER_CHROMIUM. If REGOMETER_SCREENSHOTS is
// a folder, it writes pictures of the pages there.
//
// go.work does not list this module: Prometheus and the Collector need newer
// versions of some modules than OPA, and the workspace would move OPA's. OPA
// itself needs a newer github.com/gobwas/glob than the Collector can have, so
// extauthz, which has OPA inside, is a module of its own.
package e2e
