// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestWorkloadMixture(t *testing.T) {
	t.Parallel()
	w := newWorkload(1)
	first, second := count(w.blocks(1)), count(w.blocks(1))
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two blocks differ in what they hold: %v and %v", first, second)
	}
	total := 0
	for _, o := range outcomes {
		if first[o] == 0 {
			t.Errorf("a block has no request for outcome %q", o)
		}
		total += first[o]
	}
	if total != blockSize {
		t.Errorf("a block holds %d requests, want %d", total, blockSize)
	}
}

func count(requests []request) map[outcome]int {
	n := map[outcome]int{}
	for _, q := range requests {
		n[q.want]++
	}
	return n
}

func TestWorkloadDependsOnSeedAlone(t *testing.T) {
	t.Parallel()
	a, b, c := newWorkload(7), newWorkload(7), newWorkload(8)
	inOne, other := a.blocks(3), c.blocks(3)
	piecemeal := append(b.blocks(1), b.blocks(2)...)
	if !reflect.DeepEqual(inOne, piecemeal) {
		t.Error("the same seed gave other requests when they were taken one block at a time")
	}
	if reflect.DeepEqual(inOne, other) {
		t.Error("another seed gave the same requests")
	}
}

// A server's query cache does not distinguish instrumented requests: the
// first request of each path decides whether its compilation is instrumented.
func TestWorkloadStartsUninstrumented(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, q := range newWorkload(1).blocks(2) {
		path, _, _ := strings.Cut(q.path, "?")
		if q.instrumented && !seen[path] {
			t.Fatalf("the first request for %s is instrumented", path)
		}
		seen[path] = true
	}
}

func TestWorkloadBodies(t *testing.T) {
	t.Parallel()
	for _, q := range newWorkload(3).blocks(20) {
		if valid := json.Valid([]byte(q.body)); valid == (q.want == malformed) {
			t.Errorf("%s request to %s: valid JSON %v: %s", q.want, q.path, valid, q.body)
		}
	}
}
