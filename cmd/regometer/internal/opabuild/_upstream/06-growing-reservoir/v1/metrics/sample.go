// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"
)

func newExpDecaySample(size int, alpha float64) *expDecaySample {
	now := time.Now()
	return &expDecaySample{
		alpha:  alpha,
		size:   size,
		t0:     now,
		t1:     now.Add(rescaleThreshold),
		values: make(sampleHeap, 0, min(size, 16)),
	}
}
