// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"runtime"
	"testing"
	"weak"
)

// The writers in the pool keep no collection alive.
func TestPoolKeepsNoCollection(t *testing.T) {
	for name, marshal := range map[string]func(c *collection){
		"first MarshalJSON": func(c *collection) { _, _ = c.MarshalJSON() },
		"later MarshalJSON": func(c *collection) { _, _ = c.MarshalJSON(); _, _ = c.MarshalJSON() },
		"String":            func(c *collection) { _ = c.String() },
	} {
		const collections = 10
		marshalled := func() weak.Pointer[collection] {
			c := New().(*collection)
			c.Counter("c").Incr()
			c.Histogram("h").Update(5) // without a histogram, no writer is used
			marshal(c)
			return weak.Make(c)
		}
		alive := 0
		for range collections {
			c := marshalled()
			runtime.GC() // once, because the second would empty the pool
			if c.Value() != nil {
				alive++
			}
		}
		if alive > collections/2 { // a register may hold some
			t.Errorf("%s: %d of %d collections are alive", name, alive, collections)
		}
	}
}

// Large writers do not return to the pool.
func TestPoolTakesNoLargeWriter(t *testing.T) {
	for _, w := range []*writer{
		{items: make([]item, 0, maxPooledItems+1)},
		{json: make([]byte, 0, maxPooledJSON+1)},
	} {
		for range 10 {
			w.release()
			if writers.Get().(*writer) == w {
				t.Errorf("the pool has a writer for %d metrics and %d bytes", cap(w.items), cap(w.json))
			}
		}
	}
}

// Clear drops the memory that a collection holds outside itself, each time.
func TestClearFreesMemory(t *testing.T) {
	c := New().(*collection)
	for range 3 {
		before := c.store()
		for i := range 100 {
			c.Histogram(fmt.Sprint("freed ", i)).Update(1)
		}
		if _, err := c.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
		c.Clear()
		if x := c.first.more.Load(); c.store() == before || x != nil && len(x.slots) > len(noSlots) || c.first.cache != nil {
			t.Fatal("after Clear, the collection holds the store, its table or its JSON text")
		}
	}
}
