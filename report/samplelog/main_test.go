// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"
	"os"
	"testing"

	"github.com/regometer/regometer/internal/race"
)

// The package starts no goroutine: the race detector would take minutes to find
// that out.
func TestMain(m *testing.M) {
	if race.Enabled {
		fmt.Println("not run under the race detector: the package starts no goroutine")
		return
	}
	os.Exit(m.Run())
}
