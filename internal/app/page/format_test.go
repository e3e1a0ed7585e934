// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
)

// TestFormats: a number and its unit are never on two lines.
func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		duration(12_345):      "12.3\u00a0µs",
		duration(72 * 3600e9): "3.00\u00a0d",
		percent(0):            "0\u00a0%",
		percent(1e-9):         "<\u00a00.1\u00a0%",
		percent(1. / 3):       "33.3\u00a0%",
		percent(0.99999):      ">\u00a099.9\u00a0%",
		size(999):             "999\u00a0B",
		size(1_234_000):       "1.23\u00a0MB",
		instant(decisionlog.NoTime, text.ToTheSecond): "–",
		instant(start, text.ToTheSecond):              "2026-03-02\u00a022:00:00",
		instant(start+5e6, text.ToTheMilli):           "2026-03-02\u00a022:00:00.005",
		interval(1):                                   "1\u00a0ns",
		interval(1e9):                                 "1\u00a0s",
		interval(90e9):                                "90\u00a0s",
		interval(int64(32 * time.Minute)):             "32\u00a0min",
		interval(int64(48 * time.Hour)):               "2\u00a0d",
		interval(int64(1500 * 1e6)):                   "1.50\u00a0s",
		interval(int64(4 * time.Hour)):                "4\u00a0h",
		exactDuration(1):                              "1 ns",
		exactDuration(2e3):                            "2 µs",
		exactDuration(500e6):                          "500 ms",
		exactDuration(1e10):                           "10 s",
		threeDigitsAtMost(0.5):                        "0.5",
		threeDigitsAtMost(1234.4):                     "1,234",
		total(groupby.Sum{Lo: 1234}):                  "1,234",
		total(groupby.Sum{Hi: 1}):                     "1.845e+19",
		keyText(""):                                   "(empty)",
		labelText(""):                                 "(empty)",
		keyText("\x00"):                               `\x00`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
