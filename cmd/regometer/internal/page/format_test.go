// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// A number and its unit are never on two lines.
func TestFormats(t *testing.T) {
	at := start.UnixNano()
	for got, want := range map[string]string{
		duration(12_345):   "12.3\u00a0µs",
		sliceWidth(60e9):   "60\u00a0s",
		sliceWidth(7200e9): "2\u00a0h",
		sliceWidth(90e9):   "90\u00a0s",
		percent(1e-9):      "<\u00a00.1\u00a0%",
		percent(0.99999):   ">\u00a099.9\u00a0%",
		size(1_234_000):    "1.23\u00a0MB",
		instant(logread.NoTime, text.ToTheSecond): "–",
		instant(at+5e6, text.ToTheMilli):          "2026-03-02\u00a022:00:00.005",
		threeDigitsAtMost(0.5):                    "0.5",
		threeDigitsAtMost(1234.4):                 "1,234",
		total(groupby.Sum{Lo: 1234}):              "1,234",
		total(groupby.Sum{Hi: 1}):                 "1.845e+19",
		keyText(""):                               "(empty)",
		labelText("\x00"):                         `\x00`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
