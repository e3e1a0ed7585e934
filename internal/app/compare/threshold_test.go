// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "testing"

func TestParseThreshold(t *testing.T) {
	tests := []struct {
		text string
		want Threshold
	}{
		{"p99:rego_query_eval>+20%", Threshold{0.99, "rego_query_eval", "", 0.2}},
		{"p50:s>0%", Threshold{0.5, "s", "", 0}},
		{" p99.9 : s > 12.5 %", Threshold{0.999, "s", "", 0.125}},
		{"p90:s@a/b>c@d>+100%", Threshold{0.9, "s", "a/b>c@d", 1}},
		{"p95:s@/a/b>+7%", Threshold{0.95, "s", "a/b", 0.07}},
	}
	for _, tt := range tests {
		got, err := ParseThreshold(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v; want %+v", tt.text, got, err, tt.want)
			continue
		}
		if again, err := ParseThreshold(got.String()); err != nil || again != got {
			t.Errorf("%q is written %q, which is %+v, %v", tt.text, got, again, err)
		}
	}
}

func TestParseThresholdErrors(t *testing.T) {
	for _, text := range []string{
		"", "p99", "p98:s>1%", "p:s>1%", "p99:s", "p99:>1%", "p99:@k>1%", "p99:s@>1%", "p99:s@/>1%", "p99:s>20", "p99:s>20ms", "p99:s>%",
		"p99:s>x%", "p99:s>NaN%", "p99:s>+Inf%", "p99:s>-5%", "p99:s>++5%", "p99:s>1e999999%",
	} {
		if got, err := ParseThreshold(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzParseThreshold(f *testing.F) {
	f.Add("p99:rego_query_eval@rbac/allow>+20%")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseThreshold(text)
		if err == nil && (got.Quantile <= 0 || got.Stage == "" || !(got.Relative >= 0)) {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

// A row exceeds a threshold only with its whole interval.
func TestExceed(t *testing.T) {
	before, after := example(t)
	tests := []struct {
		text             string
		exceeded, judged int
	}{
		{"p50:rego_query_eval>+20%", 1, 5},
		{"p50:rego_query_eval>+95%", 0, 5}, // a's p50 is twice as high, except for noise
		{"p99:rego_query_eval>+0%", 1, 5},
		{"p90:rego_query_eval@a>+20%", 1, 1},
		{"p90:rego_query_eval@b>+20%", 0, 1},
		{"p50:rego_query_eval@d>+20%", 0, 0}, // 9 times, but of 7 slices
		{"p50:misspelt>+20%", 0, 0},
	}
	for _, tt := range tests {
		threshold, err := ParseThreshold(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		c := compareOf(t, before, after, Options{Thresholds: []Threshold{threshold}})
		rows, judged := c.Exceed(threshold)
		if len(rows) != tt.exceeded || judged != tt.judged {
			t.Errorf("%s: %d of %d rows, want %d of %d", tt.text, len(rows), judged, tt.exceeded, tt.judged)
		}
		for _, r := range rows {
			if r.Key != "a" {
				t.Errorf("%s: %s", tt.text, r.Key)
			}
		}
	}
}
