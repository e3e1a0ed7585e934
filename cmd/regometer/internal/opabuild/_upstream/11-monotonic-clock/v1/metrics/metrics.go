// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// programStart is the origin of the times below. Reading the time since then
// takes about half as long as time.Now, which also reads the time of day.
var programStart = time.Now()

// elapsed returns the time since the program started. It is never 0, the start
// of a timer that does not run.
func elapsed() time.Duration {
	if d := time.Since(programStart); d != 0 {
		return d
	}
	return 1
}
