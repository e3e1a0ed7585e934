// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

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
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		var b strings.Builder
		for range r.IntN(20) {
			b.WriteByte('0' + byte(r.IntN(10)))
		}
		want := b.String()[:min(b.Len(), 16)]
		rest := make([]byte, r.IntN(20))
		for i := range rest {
			rest[i] = byte(r.Uint32())
			if i == 0 && isDigit(rest[i]) {
				rest[i] = ",}/:"[r.IntN(4)]
			}
		}
		text := append([]byte("x"+b.String()), rest...)
		number, _ := strconv.ParseInt("0"+want, 10, 64)
		if value, end := digits(text, 1); value != number || end != 1+len(want) {
			t.Fatalf("%q: %d, which ends at %d, want %d", text, value, end, number)
		}
	}
}

// An event with more metrics than are read has one problem, whether their keys
// are known or not.
func TestTooManyMetrics(t *testing.T) {
	t.Parallel()
	event := func(metrics ...string) string {
		return `{"decision_id":"d","metrics":{` + strings.Join(metrics, ",") + "}}\n"
	}
	const bad, negative = `"timer_bad_ns":1.5`, `"timer_negative_ns":-1`
	var many []string
	for i := range mostMetrics {
		many = append(many, `"counter_`+strconv.Itoa(i)+`":1`)
	}
	large := event(append(many, bad, negative, `"timer_good_ns":1`)...)
	small := event(bad, negative, `"timer_good_ns":1`)
	problems := func(text string) []string { return readAll(text).Problems }
	if got, want := problems(large), []string{"too_many_metrics at 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	want := []string{"bad_metric at 1", "negative_metric at 1", "too_many_metrics at 2"}
	if got := problems(small + large); !slices.Equal(got, want) {
		t.Errorf("behind another event: %q, want %q", got, want)
	}
}
