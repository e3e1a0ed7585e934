// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"
)

func (s *expDecaySample) Update(v int64) {
	s.update(base.Add(time.Since(base)), v)
}
