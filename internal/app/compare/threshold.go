// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Threshold limits the growth of a quantile.
type Threshold struct {
	Quantile float64 // 0.5, 0.9, 0.95, 0.99 or 0.999
	Stage    string
	Key      string  // the key of the group; "" stands for each group
	Relative float64 // 0 or more: 0.2 is 20 %
}

// thresholdSyntax has a quantile, a stage, a key or nothing, and a percentage.
// A key may have the character > too.
var thresholdSyntax = regexp.MustCompile(`^\s*(p[0-9.]+)\s*:\s*([^@]+?)\s*(?:@/?([^/].*?))?\s*>\s*([^>]*?)\s*%\s*$`)

// ParseThreshold parses a threshold such as "p99:rego_query_eval>+20%", or, for
// one group only, "p99:rego_query_eval@rbac/allow>+20%". The quantiles are p50,
// p90, p95, p99 and p99.9. A percentage may have decimals and may lack the plus
// sign.
func ParseThreshold(text string) (Threshold, error) {
	if m := thresholdSyntax.FindStringSubmatch(text); m != nil {
		percent, err := strconv.ParseFloat(m[4], 64)
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
			if err == nil && percent >= 0 && percent <= math.MaxFloat64 && name(q) == m[1] {
				return Threshold{q, m[2], m[3], percent / 100}, nil
			}
		}
	}
	return Threshold{}, fmt.Errorf("invalid threshold %q: write p50, p90, p95, p99 or p99.9, a stage, and a percentage of 0 or more, "+
		"such as p99:rego_query_eval>+20%%, or p99:rego_query_eval@rbac/allow>+20%% for one key", text)
}

// String returns the text of a threshold.
func (t Threshold) String() string {
	key := ""
	if t.Key != "" {
		key = "@" + t.Key
	}
	return name(t.Quantile) + ":" + t.Stage + key + ">+" + strconv.FormatFloat(t.Relative*100, 'g', 12, 64) + "%"
}

// applies reports whether a threshold is for this stage of this group.
func (t Threshold) applies(key, stage string) bool {
	return stage == t.Stage && (t.Key == "" || key == t.Key)
}

// Exceed returns the rows that are above a threshold, and the number of rows
// with enough data to be compared with it. A row is above a threshold if the
// whole confidence interval is above it. If no row has enough data, the stage
// or the key may be misspelt. The threshold must be one of Options.Thresholds,
// unless its quantile is p50 or p99.
func (c *Comparison) Exceed(t Threshold) (exceeded []Row, judged int) {
	for _, r := range c.Rows {
		for _, ch := range r.Changes {
			if ch.Quantile != t.Quantile || !t.applies(r.Key, r.Stage) || ch.Verdict == TooLittle {
				continue
			}
			judged++
			if ch.Low > t.Relative {
				exceeded = append(exceeded, r)
			}
		}
	}
	return exceeded, judged
}
