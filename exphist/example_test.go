// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist_test

import (
	"fmt"
	"time"

	"github.com/regometer/regometer/exphist"
)

func Example() {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	for ms := range 1000 { // from any goroutine
		h.Record(int64(time.Duration(ms+1) * time.Millisecond))
	}

	var s exphist.Snapshot // may be used again and again
	h.Snapshot(&s)
	fmt.Println(s.Count(), "values, sum", s.ExportedSum(), "s")
	for _, q := range s.AppendQuantiles(nil, 0.5, 0.99, 1) {
		fmt.Println(time.Duration(q).Round(time.Millisecond))
	}
	// Output:
	// 1000 values, sum 500.5 s
	// 495ms
	// 989ms
	// 1s
}

func ExampleHistogram_Merge() {
	all := exphist.New(exphist.Layout{Unit: exphist.Integer, Schema: 0, MaxBuckets: 64})
	for _, size := range []int64{100, 1000, 1500} {
		part := exphist.New(exphist.Layout{Unit: exphist.Integer}) // of a finer schema
		part.Record(size)
		var s exphist.Snapshot
		part.Snapshot(&s)
		if err := all.Merge(&s); err != nil {
			fmt.Println(err)
		}
	}

	var s exphist.Snapshot
	all.Snapshot(&s)
	first, counts := s.Buckets()
	for i, n := range counts {
		fmt.Printf("at most %d: %d\n", 1<<(first+i), n)
	}
	// Output:
	// at most 128: 1
	// at most 256: 0
	// at most 512: 0
	// at most 1024: 1
	// at most 2048: 1
}
