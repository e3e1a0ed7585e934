// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/plugins/logs"
)

// A sample has only fields that OPA's events have.
func TestSampleFields(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(succeed(t, "sample", "--decisions", "3000")))
	d.DisallowUnknownFields()
	for n := 0; d.More(); n++ {
		var e struct {
			logs.EventV1
			Error any `json:"error"` // nothing can be decoded to that of OPA
		}
		if err := d.Decode(&e); err != nil || e.DecisionID == "" || e.Metrics == nil {
			t.Fatalf("event %d: %v, %+v", n, err, e)
		}
	}
}

// An interrupt ends a sample.
func TestSampleInterrupted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, stderr := call(ended, "sample", "--decisions", "2000"); status != exitInterrupted {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestSizeOf(t *testing.T) {
	for text, want := range map[string]int64{"7": 7, "7b": 7, "2k": 2e3, "1.5MB": 15e5, "32MiB": 32 << 20, "1gib": 1 << 30, "x": -1, "-1": -1, "iB": -1} {
		if got, err := sizeOf(text); err == nil && got != want || (err != nil) != (want < 0) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}
