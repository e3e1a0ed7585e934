// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync/atomic"

	"github.com/regometer/regometer/rollup"
)

// The causes of failures.
const (
	causePanic = iota // a decision could not be recorded
	causeNext         // the next plugin returned an error or panicked
)

var causes = [...]string{causePanic: "panic", causeNext: "next"}

// The ways in which decisions come.
const (
	fromServer = iota // directly from OPA's server, in a binary from `regometer build`
	fromLog           // as events of the decision log
)

var sources = [...]string{fromServer: "server", fromLog: "decision_log"}

// A decision is a decision on its way to the rollup. Its Path is the path of
// the request, until record replaces it by the label.
type decision struct {
	rollup.Decision
	source int
	query  string
}

// counts are the plugin's own counts on a registry.
type counts struct {
	ofLogs   bool          // whether a LogCounter counts, and no plugin
	lost     atomic.Uint64 // labels that a new policy has taken from paths with decisions
	logged   atomic.Uint64 // events of the decision log
	failures [len(causes)]atomic.Uint64
	received [len(sources)]atomic.Uint64
}

// ownSeries limits the series that the plugin exports besides those of its
// collector, without the revisions. These are the failures by cause, the
// received decisions by source, the events of the decision log, the policy's
// paths by label, lost labels, the failed requests of http.send by cause, and
// regometer_build_info.
const ownSeries = len(causes) + len(sources) + 1 + 3 + len(httpCauses) + 2
