// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"runtime"
	"testing"
	"weak"
)

// What marshalling leaves in the pool keeps no collection alive.
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
			c.Histogram("h").Update(5) // no histogram, no writer
			marshal(c)
			return weak.Make(c)
		}
		alive := 0
		for range collections {
			c := marshalled()
			runtime.GC() // one, as the second would empty the pool
			if c.Value() != nil {
				alive++
			}
		}
		if alive > collections/2 { // some may be in a register
			t.Errorf("%s: %d of %d collections are alive", name, alive, collections)
		}
	}
}

// Writers that have become large do not go back to the pool.
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
