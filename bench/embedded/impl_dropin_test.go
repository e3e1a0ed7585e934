// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build dropin

package embedded

import "github.com/open-policy-agent/opa/v1/metrics"

const impl = "regometer"

// It exists only where OPA's package is the drop-in: the build proves that it
// is.
func appendJSON(dst []byte, m metrics.Metrics) ([]byte, error) {
	return metrics.AppendJSON(dst, m)
}
