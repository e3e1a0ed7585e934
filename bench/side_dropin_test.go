// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build dropin

package bench

import "github.com/open-policy-agent/opa/v1/metrics"

const dropIn = true

// appendJSON calls AppendJSON, which only the drop-in has.
func appendJSON(dst []byte, m metrics.Metrics) ([]byte, error) {
	return metrics.AppendJSON(dst, m)
}
