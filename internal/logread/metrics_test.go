// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Numbers of all lengths, and what may stand behind them.
func TestDigits(t *testing.T) {
	t.Parallel()
	rolls(t, 200_000, 100_000, func(r *rand.Rand) bool {
		number := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)[r.IntN(2):]
		rest := make([]byte, r.IntN(20))
		for i := range rest {
			rest[i] = byte(r.Uint32())
		}
		if len(rest) > 0 && isDigit(rest[0]) {
			rest[0] = oneOf[byte](r, ',', '}', '/', ':')
		}
		text := append([]byte("x"+number), rest...)
		number = number[:min(len(number), 16)]
		want, _ := strconv.ParseInt("0"+number, 10, 64)
		if value, end := digits(text, 1); value != want || end != 1+len(number) {
			t.Fatalf("%q: %d, which ends at %d, want %d", text, value, end, want)
		}
		return len(rest) > 0
	})
}

// An event with more metrics than are read has one problem, whether their keys
// are known or not.
func TestTooManyMetrics(t *testing.T) {
	t.Parallel()
	const odd = `"timer_bad_ns":1.5,"timer_negative_ns":-1,"timer_good_ns":1}}` + "\n"
	large := strings.Builder{}
	large.WriteString(`{"decision_id":"d","metrics":{`)
	for i := range mostMetrics {
		large.WriteString(`"counter_` + strconv.Itoa(i) + `":1,`)
	}
	checkProblems(t, large.String()+odd, "too_many_metrics at 1")
	checkProblems(t, `{"decision_id":"d","metrics":{`+odd+large.String()+odd, "bad_metric at 1", "negative_metric at 1", "too_many_metrics at 2")
	tooLong := `{"decision_id":"d","metrics":{` + strings.Repeat(`"timer_`+strings.Repeat("x", longestMetric)+`_ns":1,`, mostMetrics+5) + `"x":1}}`
	checkProblems(t, tooLong, slices.Repeat([]string{"bad_metric at 1"}, mostMetrics)...)
}
