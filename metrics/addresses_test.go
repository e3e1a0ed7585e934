// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego && (386 || amd64 || arm64 || loong64 || ppc64 || ppc64le || s390x)

package metrics

import (
	"strings"
	"testing"
)

// Each of OPA's constants has a slot of its own.
func TestWellKnown(t *testing.T) {
	for kind, names := range knownNames() {
		for _, name := range names {
			if d := wellKnown(kind, name); d == nil || d.kind != kind || d.name != name {
				t.Errorf("%v %q is not found by its address", kind, name)
			}
			if wellKnown(kind, strings.Clone(name)) != nil {
				t.Errorf("%v %q is found by another address", kind, name)
			}
			if part := name[:len(name)-1]; wellKnown(kind, part) != nil {
				t.Errorf("%v %q is found by the address of %q", kind, part, name)
			}
		}
	}
}

// A table stays empty if no multiplier tells the addresses apart.
func TestWithoutMultiplier(t *testing.T) {
	d := wellKnown(KindTimer, RegoQueryEval)
	var table addressTable
	table.fill([]*descriptor{d, d})
	if *table.slot(KindTimer, RegoQueryEval) != nil {
		t.Error("the table has one of two names with the same address")
	}
}
