// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each fault is for lines that its file has once.
func TestFaults(t *testing.T) {
	t.Parallel()
	lists, err := filepath.Glob("*.txt")
	if err != nil || len(lists) == 0 {
		t.Fatal("there are no lists", err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
		for _, f := range faults {
			text, err := os.ReadFile(filepath.Join("../../..", f.file))
			if err != nil {
				t.Errorf("%s: %v", list, err)
				continue
			}
			if n := strings.Count(string(text), f.old); n != 1 {
				t.Errorf("%s: %s: the lines occur %d times", list, f.title, n)
			}
		}
	}
}
