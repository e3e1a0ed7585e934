// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package regometer holds the source text of package metrics, for the tools
// that put it into an Open Policy Agent source tree, and an example policy. To
// record metrics in a program, import github.com/regometer/regometer/metrics.
package regometer

import "embed"

// DropIn holds the Go files of the folder metrics, tests included, and go.mod.
// Those that do not end in _test.go are the drop-in for OPA's v1/metrics.
//
//go:embed metrics/*.go go.mod
var DropIn embed.FS

// ExamplePolicy holds the folder examples/policy: a policy for OPA with its
// data and its tests.
//
//go:embed examples/policy
var ExamplePolicy embed.FS
