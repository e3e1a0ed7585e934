// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Threshold limits the growth or the fall of a quantile or of an outcome's share.
type Threshold struct {
	Text  string // as it was given
	Name  string // of a change: "p99" or "denied"
	Stage string // "" for an outcome
	Key   string // the key of the group; "" stands for each group
	Below bool   // the threshold limits the fall
	// Limit is 0 or more: 0.2 is 20 % of a quantile, or 20 percentage points.
	Limit float64
}

// The names of changes.
var (
	outcomeNames  = [...]string{"allowed", "denied", "other", "undefined", "error", "cancelled"} // by outcome.Outcome
	quantileNames = []string{"p50", "p90", "p95", "p99", "p99.9"}
	quantiles     = map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
)

// thresholdSyntax has a quantile and a stage or an outcome, a key or nothing,
// the direction, a number, and a unit. A key may have the characters > and <.
var thresholdSyntax = regexp.MustCompile(`^\s*(?:(p[0-9.]+)\s*:\s*([^@]+?)|([a-z]+))\s*(?:@/?([^/].*?))?\s*([<>])\s*([^<>]*?)\s*(%|pp)\s*$`)

// ParseThreshold parses a threshold such as "p99:rego_query_eval>+20%", or
// "denied>+5pp", or "allowed@rbac/allow<-5pp" for one group only. The quantiles
// are p50, p90, p95, p99 and p99.9. A number may have decimals, and may lack the
// plus sign.
func ParseThreshold(text string) (Threshold, error) {
	if m := thresholdSyntax.FindStringSubmatch(text); m != nil {
		t := Threshold{strings.TrimSpace(text), cmp.Or(m[1], m[3]), m[2], m[4], m[5] == "<", 0}
		names, unit := quantileNames, "%"
		if t.Stage == "" {
			names, unit = outcomeNames[:], "pp"
		}
		n, err := strconv.ParseFloat(m[6], 64)
		if t.Limit = n / 100; t.Below {
			t.Limit = -t.Limit
		}
		possible := t.Limit < 1 || unit == "%" && !t.Below && t.Limit <= math.MaxFloat64
		if err == nil && t.Below == strings.HasPrefix(m[6], "-") && t.Limit >= 0 && possible && unit == m[7] && slices.Contains(names, t.Name) {
			return t, nil
		}
	}
	return Threshold{}, fmt.Errorf("invalid threshold %q: write p50, p90, p95, p99 or p99.9, a stage, and a percentage, "+
		"such as p99:rego_query_eval>+20%%; or %s, and percentage points, such as denied>+5pp or allowed<-5pp; "+
		"or p99:rego_query_eval@rbac/allow>+20%% and denied@rbac/allow>+5pp for one key", text, strings.Join(outcomeNames[:], ", "))
}

// applies reports whether a threshold is for the rows of a stage and a key.
func (t Threshold) applies(stage, key string) bool {
	return stage == t.Stage && (t.Key == "" || key == t.Key)
}
