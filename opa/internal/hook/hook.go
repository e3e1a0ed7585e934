// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package hook has what the plugin shares only with package register.
package hook

import (
	"context"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/rollup"
)

// Build describes a binary of `regometer build`.
type Build struct {
	Version string // Regometer's version; "" means the module's version in the build information
	DropIn  string // the hash of the drop-in, or "" if there is none

	// Numbers appends the timers and counters of a collection to dst, and
	// returns the result. If it is nil, the plugin takes them from the
	// collection's All.
	Numbers func(dst []rollup.Number, m metrics.Metrics) []rollup.Number

	// Observed reports whether the plugin has already got the decision for which
	// OPA calls Log with ctx. If it is nil, decisions come only by Log.
	Observed func(ctx context.Context) bool
}

// Started is the number of started plugins in this process.
var Started atomic.Int64
