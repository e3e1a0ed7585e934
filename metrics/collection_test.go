// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"testing"
)

// TestClearLetsGo: what a collection held outside itself before Clear is not
// held by it after it, the first time and each time after.
func TestClearLetsGo(t *testing.T) {
	c := New().(*collection)
	for range 3 {
		before := c.store()
		for i := range 100 {
			c.Histogram(fmt.Sprint("let go ", i)).Update(1)
		}
		if _, err := c.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
		c.Clear()
		if c.store() == before {
			t.Fatal("the same store after Clear")
		}
		if x := c.first.more.Load(); x != nil && len(x.slots) > len(noSlots) || c.first.cache != nil {
			t.Fatalf("after Clear the first store holds a table of %d and the JSON text %v", len(x.slots), c.first.cache)
		}
	}
}
