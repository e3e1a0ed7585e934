// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
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
	wide := strings.NewReplacer(`"max":1000000000,"sum":1000000000`, `"max":32000000000,"sum":33000000000`, `[0,1]`, `[0,1],[160,1]`).Replace(small)
	for _, c := range []struct {
		limit   uintptr
		text    string
		isShort bool
	}{{9, small, false}, {1000, small, true}, {1000, wide, false}, {3000, wide, true}} {
		maxLine = c.limit
		if _, err := load(bytes.NewReader(packed(c.text))); c.isShort != (err == nil) || !c.isShort && !strings.Contains(err.Error(), "lists are too long") {
			t.Errorf("%d bytes: error %v", c.limit, err)
		}
	}
}
