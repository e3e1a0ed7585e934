// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/regometer/regometer/metrics"

//go:generate sh -c "sed 's|\"github.com/open-policy-agent/opa/v1/metrics\"|\"github.com/regometer/regometer/metrics\"|' ../opa/cases.go > cases.go"

func appendJSON(dst []byte, m metrics.Metrics) ([]byte, error) {
	return metrics.AppendJSON(dst, m)
}
