// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"
	"testing"
)

// TestLimitOfJSON: JSON above a limit is neither written nor read. It does
// not run in parallel with others, which use the limit.
func TestLimitOfJSON(t *testing.T) {
	x := readLog(t, eventsOf(0, 20_000), Options{By: "label:x"})
	file := written(t, x.Save)
	for _, limit := range []*int64{&maxHead, &maxJSON} {
		before := *limit
		defer func() { *limit = before }()
		*limit = 100
		if err := x.Save(io.Discard); err == nil || !strings.Contains(err.Error(), "too large to save") {
			t.Errorf("saving: error %v", err)
		}
		if _, err := load(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), "is too large") {
			t.Errorf("loading: error %v", err)
		}
		*limit = before
	}
	before := maxLine
	defer func() { maxLine = before }()
	maxLine = 9
	if _, err := load(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), "lists are too long") {
		t.Errorf("loading: error %v", err)
	}
}
