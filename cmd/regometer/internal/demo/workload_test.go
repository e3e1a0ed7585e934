// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"reflect"
	"strings"
	"testing"
)

func TestWorkload(t *testing.T) {
	t.Parallel()
	w, same, other := newWorkload(1), newWorkload(1), newWorkload(2)
	for range 20 {
		block := w.block()
		if !reflect.DeepEqual(block, same.block()) {
			t.Fatal("the same seed gave other requests")
		}
		if reflect.DeepEqual(block, other.block()) {
			t.Fatal("another seed gave the same requests")
		}
	}
	for seed := range uint64(20) {
		compiled, w := map[string]bool{}, newWorkload(seed)
		for _, q := range w.block() {
			path, query, _ := strings.Cut(q.path, "?")
			if query == "instrument=true" && !compiled[path] {
				t.Fatalf("seed %d: the first request for %s is instrumented", seed, path)
			}
			compiled[path] = true
		}
	}
}
