// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
)

// Thresholds limit the decisions of kinds, and with [Options.Against] the growth
// of durations.
type Thresholds struct {
	Times  []compare.Threshold
	counts []threshold
}

type threshold struct {
	text, kind string
	limit      float64
	share      bool // limit is a part of the decisions
}

var thresholdSyntax = regexp.MustCompile(`^\s*(changed|apart|not-repeatable|allowed-to-denied|denied-to-allowed|other)\s*>\s*([0-9.]+)\s*(%?)\s*$`)

// Add adds a threshold such as "changed>0" or "allowed-to-denied>0.1%", or one
// for times as [compare.ParseThreshold] does.
func (t *Thresholds) Add(s string) error {
	if m := thresholdSyntax.FindStringSubmatch(s); m != nil {
		if limit, err := strconv.ParseFloat(m[2], 64); err == nil {
			t.counts = append(t.counts, threshold{strings.TrimSpace(s), m[1], limit, m[3] != ""})
			return nil
		}
	} else if time, err := compare.ParseThreshold(s); err == nil && time.Stage == "rego_query_eval" {
		t.Times = append(t.Times, time)
		return nil
	}
	return fmt.Errorf("invalid threshold %q: write changed, apart, not-repeatable, allowed-to-denied, denied-to-allowed or other, and a number or a share of the decisions, "+
		"such as changed>0 or allowed-to-denied>0.1%%; or p50, p90, p95, p99 or p99.9 of rego_query_eval, such as p99:rego_query_eval>+20%%", s)
}
