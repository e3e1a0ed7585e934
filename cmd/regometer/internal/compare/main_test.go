// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	"github.com/regometer/regometer/internal/race"
)

func TestMain(m *testing.M) { race.Main(m) }
