// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestLimitOfJSON: JSON above a limit is not read. It does
// not run in parallel with others, which use the limit.
func TestLimitOfJSON(t *testing.T) {
	x := readLog(t, eventsOf(0, 20_000), Options{By: "label:x"})
	file := written(t, x.Save)
	before := maxLine
	defer func() { maxLine = before }()
	maxLine = 100
	if _, err := load(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), "is too large") {
		t.Errorf("loading: error %v", err)
	}
	maxLine = 2000
	wide := `"max":32000000000,"sum":33000000000,"buckets":[[0,1],[160,1]]`
	stages := strings.Repeat(stageJSON+",", 20)
	if _, err := load(bytes.NewReader(packed(strings.Replace(small, stageJSON, stages, 1)))); err == nil || !strings.Contains(err.Error(), "is too large") {
		t.Errorf("a long line: error %v", err)
	}
	maxLine = before
	stages = strings.Repeat(strings.Replace(stageJSON, `"max":1000000000,"sum":1000000000,"buckets":[[0,1]]`, wide, 1)+",", mostCounts/161+1)
	if _, err := load(bytes.NewReader(packed(strings.Replace(small, stageJSON, stages, 1)))); err == nil || !strings.Contains(err.Error(), "too wide") {
		t.Errorf("wide histograms: error %v", err)
	}
}
