// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/stages"
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

// TestStagesAreKnown: the catalog has the names that have labels, so that it
// formats their keys once, except those of a family such as eval_op_*. All
// names in the catalog have labels.
func TestStagesAreKnown(t *testing.T) {
	timers := []string{BundleRequest, "server_read_bytes"} // not in a decision's metrics
	var families []string
	for _, s := range stages.DefaultStages() {
		if family, is := strings.CutSuffix(s.Name, "*"); is {
			families = append(families, family)
		} else {
			timers = append(timers, s.Name)
		}
	}
	for _, c := range []struct{ known, labelled []string }{{knownTimers[:], timers}, {knownCounters[:], stages.DefaultCounters()}} {
		for _, name := range c.labelled {
			if !slices.Contains(c.known, name) {
				t.Errorf("the catalog lacks %q, which has a label", name)
			}
		}
		for _, name := range c.known {
			inFamily := func(family string) bool { return strings.HasPrefix(name, family) }
			if !slices.Contains(c.labelled, name) && !slices.ContainsFunc(families, inFamily) {
				t.Errorf("internal/stages/defaults.go lacks %q, which is in the catalog", name)
			}
		}
	}
}
