// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"math"
	"strings"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// oddNames need care in a key, in its order or in JSON.
var oddNames = []string{
	metrics.RegoQueryEval, "", " ", "a", "a!", "a_", "_ns", `"`, `\`, "<script>&", "\x00\x1f\x7f", "\b\f\n\r\t",
	"\u2028\u2029", "\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\ufffd", "世界", "😀", strings.Repeat("long\u2028", 1000),
}

// outputPieces are what the output of a collection consists of. Names made of
// them look like the output around them.
var outputPieces = []string{
	`"count":`, `"count`, `,"count":1,`, `{"75%":`, `"stddev":`, `{`, `}`, `":`, `":{`, `,`, `"`, `\`, `\"`, `:`, ` `, `0`,
	"map[75%:", " count:", " stddev:", "]", "timer_", "_ns", "counter_", "histogram_",
}

// nameOfPieces makes a name: a byte is a piece of output, and with its highest
// bit set itself.
func nameOfPieces(recipe []byte) string {
	var name []byte
	for _, b := range recipe {
		if b < 0x80 {
			name = append(name, outputPieces[int(b)%len(outputPieces)]...)
		} else {
			name = append(name, b-0x80)
		}
	}
	return string(name)
}

// extremeValues are the ends of what an int64 and a float64 hold exactly.
var extremeValues = []int64{
	0, 1, -1, 255, 256, 1 << 31, -1 << 31, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1<<53 - 1,
	999_999_999_999_999, 1e15, 1e18, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1,
}

// TestExtremeValues checks all pairs of extreme values against arithmetic that
// cannot overflow.
func TestExtremeValues(t *testing.T) {
	for _, a := range extremeValues {
		for _, b := range extremeValues {
			m := metrics.New()
			h := m.Histogram("h")
			h.Update(a)
			h.Update(b)
			v := h.Value().(map[string]any)
			mean := float64(a)/2 + float64(b)/2
			stdDev := math.Abs(float64(a)/2 - float64(b)/2)
			ulp := math.Max(math.Abs(float64(a)), math.Abs(float64(b))) * 0x1p-52
			for field, want := range map[string]float64{
				"mean": mean, "median": mean, "stddev": stdDev,
				"75%": float64(max(a, b)), "90%": float64(max(a, b)), "99.99%": float64(max(a, b)),
			} {
				if got := v[field].(float64); !(math.Abs(got-want) <= ulp) {
					t.Errorf("%s of %d and %d is %v, want %v", field, a, b, got, want)
				}
			}
			if v["count"] != int64(2) || v["min"] != min(a, b) || v["max"] != max(a, b) {
				t.Errorf("summary of %d and %d is %v", a, b, v)
			}
			checkJSON(t, m)
		}
	}
}

// TestManyExtremeValues: the sums of a full histogram, and of Statistics of
// many numbers, do not overflow.
func TestManyExtremeValues(t *testing.T) {
	for _, v := range []int64{math.MaxInt64, math.MinInt64} {
		h := metrics.New().Histogram("h")
		for range 3000 {
			h.Update(v)
		}
		many := make([]int64, 200_000)
		for i := range many {
			many[i] = v
		}
		for _, got := range []any{h.Value(), metrics.Statistics(many...)} {
			fields := got.(map[string]any)
			if fields["mean"] != float64(v) || fields["stddev"] != 0.0 || fields["min"] != v || fields["max"] != v {
				t.Errorf("the summary of many times %d is %v", v, fields)
			}
		}
		for i := range many {
			if i%2 == 0 {
				many[i] = -1 - v // the other end
			}
		}
		fields := metrics.Statistics(many...).(map[string]any)
		if fields["mean"] != -0.5 || math.Abs(fields["stddev"].(float64)-1<<63) > 1<<12 {
			t.Errorf("the summary of both ends is %v", fields)
		}
	}
}
