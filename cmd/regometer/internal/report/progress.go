// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// String returns a line with the bytes read, the speed, and the time left.
func (p Progress) String() string {
	line := text.Bytes(p.Bytes)
	if p.Of > 0 {
		line += " of " + text.Bytes(p.Of)
	}
	rate := float64(p.Bytes) / max(p.Elapsed.Seconds(), 1e-9)
	line += fmt.Sprintf(", %s/s, %s", text.Bytes(int64(rate)), text.Plural(p.Decisions, "decision"))
	if p.Of > p.Bytes && rate > 0 {
		left := time.Duration(float64(p.Of-p.Bytes) / rate * float64(time.Second))
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}
