// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "testing"

// TestTableOfVeryManyKeys: a table takes little memory before it has keys,
// however many are allowed, and finds them all the same.
func TestTableOfVeryManyKeys(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 1 << 24}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.byLabel.buckets); n > 1<<16 {
		t.Errorf("%d buckets", n)
	}
	if !r.Admit("p") || r.byLabel.get("p") == nil {
		t.Error("a path is not found")
	}
}
