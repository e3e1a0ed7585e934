// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"math/rand/v2"
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
