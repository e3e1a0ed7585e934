// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// summary describes the values of a histogram.
type summary struct {
	count, min, max int64
	mean, stdDev    float64
	percentiles     []float64 // of percentileRanks
}

var percentileRanks = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

// summarize describes values. It sorts them in place.
func summarize(values []int64) summary {
	ps := percentiles(values, percentileRanks) // sorts
	s := summary{
		count:       int64(len(values)),
		mean:        mean(values),
		stdDev:      stdDev(values),
		percentiles: ps,
	}
	if len(values) > 0 {
		s.min, s.max = values[0], values[len(values)-1]
	}
	return s
}

func (s summary) value() map[string]any {
	return map[string]any{
		"count":  s.count,
		"min":    s.min,
		"max":    s.max,
		"mean":   s.mean,
		"stddev": s.stdDev,
		"median": s.percentiles[0],
		"75%":    s.percentiles[1],
		"90%":    s.percentiles[2],
		"95%":    s.percentiles[3],
		"99%":    s.percentiles[4],
		"99.9%":  s.percentiles[5],
		"99.99%": s.percentiles[6],
	}
}
