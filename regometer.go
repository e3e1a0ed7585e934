// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package regometer holds files of the checkout for the tools of Regometer. To
// record metrics in a program, import
// github.com/regometer/regometer/metrics. The tools may need other files in the
// next release.
package regometer

import "embed"

// Files holds the Go files of the folder metrics, tests included, go.mod, and
// the folder examples/policy: a policy for OPA with its data and its tests. The
// files of metrics that do not end in _test.go are the drop-in for OPA's
// v1/metrics.
//
//go:embed metrics/*.go go.mod examples/policy
var Files embed.FS
