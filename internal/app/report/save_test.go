// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"
	"testing"
)

// TestLimitOfJSON: JSON above the limit is neither written nor read. It does
// not run in parallel with others, which use the limit.
func TestLimitOfJSON(t *testing.T) {
	x, err := newData(&Options{By: "path"})
	if err != nil {
		t.Fatal(err)
	}
	file := strings.NewReader(written(t, x.Save))
	before := maxJSON
	defer func() { maxJSON = before }()
	maxJSON = 100
	if err := x.Save(io.Discard); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("saving: error %v", err)
	}
	if _, err := load(file); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("loading: error %v", err)
	}
}
