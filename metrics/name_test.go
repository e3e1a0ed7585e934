// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Names that appear once do not enter the catalog, and its size is limited. So
// OPA's own names are found, for any other names.
func TestCatalogIsBounded(t *testing.T) {
	appear := func(kind Kind, name string) *descriptor {
		return noteSeen(name, hashName(kind, name))
	}
	keepCatalog(func() {
		before := catalogSize.Load()
		for i := range 100_000 {
			appear(KindTimer, fmt.Sprint("one-off ", i))
		}
		if n := catalogSize.Load() - before; n > 10 {
			t.Errorf("%d of 100,000 one-off names have entered the catalog", n)
		}
		appear(KindTimer, "recurring")
		d := appear(KindTimer, "recurring")
		if d == nil || d.id == 0 || appear(KindTimer, "recurring") != d {
			t.Error("a name that recurs has not entered the catalog")
		}
		long := strings.Repeat("x", maxKnownName+1)
		for i := range 2 * maxCatalog {
			for range 3 {
				appear(KindTimer, fmt.Sprint("recurring ", i))
				appear(KindTimer, long)
			}
		}
		names := map[string]bool{}
		for i := range catalog {
			if d := catalog[i].descriptor.Load(); d != nil {
				names[d.key] = true
				if d.id != uint32(i)+1 || d.hash != catalog[i].hash || len(d.name) > maxKnownName {
					t.Errorf("at place %d: %+v", i, *d)
				}
			}
		}
		if len(names) != 2048 || catalogSize.Load() != 2048 {
			t.Errorf("%d names, size %d, want 2,048", len(names), catalogSize.Load())
		}
		if enterCatalog("one more", hashName(KindTimer, "one more")) != nil {
			t.Error("a name enters the full catalog")
		}
		for kind, names := range knownNames() {
			for _, name := range names {
				if d := appear(kind, strings.Clone(name)); d == nil || d.name != name || d.kind != kind {
					t.Errorf("%v %q is not in the catalog", kind, name)
				}
			}
		}
	})
}

// knownNames returns the names that OPA records.
func knownNames() map[Kind][]string {
	return map[Kind][]string{
		KindTimer:     slices.Concat(knownTimers[:], knownOperations[:]),
		KindCounter:   knownCounters[:],
		KindHistogram: knownOperations[:],
	}
}
