// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An event with more metrics than are read has a problem for each of them, whether their keys
// are known or not.
func TestTooManyMetrics(t *testing.T) {
	t.Parallel()
	const odd = `"timer_bad_ns":1.5,"timer_negative_ns":-1,"timer_good_ns":1}}` + "\n"
	large := strings.Builder{}
	large.WriteString(`{"decision_id":"d","path":"p","metrics":{`)
	for i := range mostMetrics {
		large.WriteString(`"counter_` + strconv.Itoa(i) + `":1,`)
	}
	checkProblems(t, large.String()+odd, "bad_metric at 1", "bad_metric at 1", "bad_metric at 1")
	checkProblems(t, `{"decision_id":"d","path":"p","metrics":{`+odd+large.String()+odd, "bad_metric at 1", "bad_metric at 2", "bad_metric at 2", "bad_metric at 2", "negative_metric at 1")
	tooLong := `{"decision_id":"d","path":"p","metrics":{` + strings.Repeat(`"timer_`+strings.Repeat("x", longestMetric)+`_ns":1,`, mostMetrics+5) + `"x":1}}`
	checkProblems(t, tooLong, slices.Repeat([]string{"bad_metric at 1"}, mostMetrics)...)
}
