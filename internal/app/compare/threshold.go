// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Threshold is by how much a quantile may grow.
type Threshold struct {
	Quantile float64 // 0.5, 0.9, 0.95, 0.99 or 0.999
	Stage    string
	Key      string  // only the group of this key; "": each group
	Relative float64 // 0.2: by 20 %; not negative
}

// ParseThreshold parses a threshold such as "p99:rego_query_eval>+20%", or, for
// one group only, "p99:rego_query_eval@rbac/allow>+20%". The quantiles are p50,
// p90, p95, p99 and p99.9; a percentage may have decimals, and no plus sign.
func ParseThreshold(text string) (Threshold, error) {
	fail := func(what string) (Threshold, error) {
		return Threshold{}, fmt.Errorf("threshold %q: %s; want such as \"p99:rego_query_eval>+20%%\"", text, what)
	}
	quantile, rest, ok := strings.Cut(text, ":")
	if !ok {
		return fail("no colon after the quantile")
	}
	var t Threshold
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
		if name(q) == strings.TrimSpace(quantile) {
			t.Quantile = q
		}
	}
	if t.Quantile == 0 {
		return fail(fmt.Sprintf("%q is none of p50, p90, p95, p99, p99.9", quantile))
	}
	i := strings.LastIndexByte(rest, '>') // a key may have one too
	if i < 0 {
		return fail("no > before the percentage")
	}
	stage, key, hasKey := strings.Cut(strings.TrimSpace(rest[:i]), "@")
	t.Stage, t.Key = stage, strings.TrimPrefix(key, "/")
	if t.Stage == "" {
		return fail("no stage")
	}
	if hasKey && t.Key == "" {
		return fail("nothing after @")
	}
	number, ok := strings.CutSuffix(strings.TrimSpace(rest[i+1:]), "%")
	if !ok {
		return fail("no % at the end")
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(percent) || math.IsInf(percent, 0) {
		return fail(fmt.Sprintf("%q is no number", number))
	}
	if percent < 0 {
		return fail("the percentage is negative")
	}
	t.Relative = percent / 100
	return t, nil
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

// Exceeds returns the rows that are above a threshold: those where the whole
// confidence interval of the change is. The threshold must have been among
// Options.Thresholds, unless its quantile is p50 or p99.
func (c *Comparison) Exceeds(t Threshold) (rows []Row) {
	c.each(t, func(r Row, ch Change) {
		if ch.Low > t.Relative {
			rows = append(rows, r)
		}
	})
	return rows
}

// Judged returns in how many rows there was enough data to compare with a
// threshold. If it is none, that no row exceeds the threshold says nothing: the
// stage or the key may be misspelt.
func (c *Comparison) Judged(t Threshold) (n int) {
	c.each(t, func(_ Row, ch Change) {
		if ch.Verdict != TooLittle {
			n++
		}
	})
	return n
}

// each calls f with the changes that a threshold is for.
func (c *Comparison) each(t Threshold, f func(Row, Change)) {
	for _, r := range c.Rows {
		for _, ch := range r.Changes {
			if ch.Quantile == t.Quantile && t.applies(r.Key, r.Stage) {
				f(r, ch)
			}
		}
	}
}
