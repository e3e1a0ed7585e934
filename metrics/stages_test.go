// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// This file does not go into OPA, because it imports another package of Regometer.

import (
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/stages"
)

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
