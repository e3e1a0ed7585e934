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
	w, same := newWorkload(), newWorkload()
	compiled := map[string]bool{}
	for range 20 {
		block := w.block()
		if !reflect.DeepEqual(block, same.block()) {
			t.Fatal("the requests differ")
		}
		for _, q := range block {
			path, query, _ := strings.Cut(q.path, "?")
			if query == "instrument=true" && !compiled[path] {
				t.Fatalf("the first request for %s is instrumented", path)
			}
			compiled[path] = true
		}
	}
}
