// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build dropin

package bench

import "github.com/open-policy-agent/opa/v1/metrics"

const side = "regometer"

// appendJSON compiles only where OPA's package is the drop-in.
func appendJSON(dst []byte, m metrics.Metrics) ([]byte, error) {
	return metrics.AppendJSON(dst, m)
}
