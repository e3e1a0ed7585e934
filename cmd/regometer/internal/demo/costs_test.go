// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"reflect"
	"testing"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ours, theirs, want []float64 }{
		{[]float64{30, 20, 10}, []float64{10, 40, 20}, []float64{20, 20, 1, 0.5, 3}},
	} {
		c := cost{rounds: [2][]float64{test.ours, test.theirs}}
		c.summarize()
		if got := []float64{c.dropIn, c.unmodified, c.ratio, c.least, c.most}; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v against %v: got %v, want %v", test.ours, test.theirs, got, test.want)
		}
	}
}
