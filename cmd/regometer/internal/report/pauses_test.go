// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
	"time"
)

// TestPauses: pauses are found in the order of time, if they are neither short,
// nor longer than a night, nor usual.
func TestPauses(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	for _, test := range []struct {
		gaps []time.Duration // after 20, 40, 60, … decisions, which come each second
		want []int
	}{
		{nil, nil},
		{[]time.Duration{5 * minute, 20 * minute, 9 * minute}, []int{20, 40, 60}},
		{[]time.Duration{5*minute - 1, 20 * minute}, nil},
		{[]time.Duration{minute, 10 * minute}, []int{40}},
		{[]time.Duration{minute + 1, 10 * minute}, nil},
		{[]time.Duration{6 * hour, 10 * minute}, []int{20, 40}},
		{[]time.Duration{6*hour + 1, 10 * minute}, nil},
		{[]time.Duration{hour, hour, hour, hour}, nil},
	} {
		sample, at := newSample(), time.Duration(0)
		sample.names.number(hashText(nil))
		for i := range 120 {
			if at += time.Second; i > 0 && i%20 == 0 && i/20 <= len(test.gaps) {
				at += test.gaps[i/20-1] - time.Second
			}
			sample.kept = append(sample.kept, sampled{time: int64(at)})
		}
		if got := newScan(sample, &servers{texts: map[string]map[string]string{}}).findPauses(); !slices.Equal(got, test.want) {
			t.Errorf("gaps %v: pauses before %v, want %v", test.gaps, got, test.want)
		}
	}
}
