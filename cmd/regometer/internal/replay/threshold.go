// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
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

// Checks returns the thresholds as checks, which fail if they are exceeded or
// cannot be judged, and then what changed.
func (r *Report) Checks([]string) (all []output.Check) {
	given := &r.options.Thresholds
	for _, t := range given.counts {
		n, of := r.of[t.kind], r.of[""] // estimated decisions of the log
		limit := t.limit
		if t.share {
			limit *= of / 100
		}
		const rounding = 1e-9 // of the sum of weights
		c := output.Check{Name: t.text}
		if r.Equal+r.Changed == 0 && t.kind != verdictNames[apart] && t.kind != verdictNames[notRepeatable] {
			c.Texts = []string{"no decision could be compared"}
		} else if n > limit*(1+rounding) {
			c.Texts = []string{fmt.Sprintf("%s of %s%s", count(n), text.Plural(uint64(math.Round(of)), "decision"), r.ofSample(" (estimated from the sample)"))}
		}
		c.Failed = c.Texts != nil
		all = append(all, c)
	}
	if r.Partly {
		all = append(all, output.Check{Name: report.PartlyRead, Failed: len(given.counts)+len(given.Times) > 0, Texts: []string{"The replay has only a part of the log: " + r.Unread + "."}})
	}
	changes := output.Check{Name: "changed"}
	for _, p := range r.Paths {
		kind := ""
		for _, x := range p.Examples { // sorted by kind
			if isChange(x.Kind) && x.Kind != kind {
				kind = x.Kind
				changes.Texts = append(changes.Texts, fmt.Sprintf("%s: %s %s%s, such as decision %s in %s:%d", p.Path, text.Count(p.Kinds[kind]), kind, r.ofSample(inSample), x.ID, x.Place.File, x.Place.Line))
			}
		}
	}
	all = append(all, changes)
	if r.Times != nil {
		all = append(all, r.Times.Checks(nil)...)
	}
	return all
}
