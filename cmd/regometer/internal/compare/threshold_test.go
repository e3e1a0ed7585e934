// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strings"
	"testing"
)

func TestParseThreshold(t *testing.T) {
	tests := []struct {
		text string
		want Threshold
	}{
		{"p99:rego_query_eval>+20%", Threshold{Name: "p99", Stage: "rego_query_eval", Limit: 0.2}},
		{"p50:s>0%", Threshold{Name: "p50", Stage: "s"}},
		{" p99.9 : s > 12.5 %", Threshold{Name: "p99.9", Stage: "s", Limit: 0.125}},
		{"p90:s@a/b>c@d>+100%", Threshold{Name: "p90", Stage: "s", Key: "a/b>c@d", Limit: 1}},
		{"p95:s@/a/b<-7%", Threshold{Name: "p95", Stage: "s", Key: "a/b", Limit: 0.07, Below: true}},
		{"denied@rbac/allow>+5pp", Threshold{Name: "denied", Key: "rbac/allow", Limit: 0.05}},
		{"allowed <-12.5 pp ", Threshold{Name: "allowed", Limit: 0.125, Below: true}},
		{"other>0pp", Threshold{Name: "other"}},
		{"error@a<b>99pp", Threshold{Name: "error", Key: "a<b", Limit: 0.99}},
	}
	for _, tt := range tests {
		tt.want.Text = strings.TrimSpace(tt.text)
		if got, err := ParseThreshold(tt.text); err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseThresholdErrors(t *testing.T) {
	for _, text := range []string{
		"", "p99", "p98:s>1%", "p:s>1%", "p99:s", "p99:>1%", "p99:@k>1%", "p99:s@>1%", "p99:s@/>1%", "p99:s>20", "p99:s>20ms", "p99:s>%",
		"p99:s>x%", "p99:s>NaN%", "p99:s>+Inf%", "p99:s>-5%", "p99:s>++5%", "p99:s>1e999999%",
		"p99:s<5%", "p99:s<+5%", "p99:s<--5%", "p99:s<-100%", "p99:s>5pp", "p99>5%",
		"denied>5%", "denied>-5pp", "denied<5pp", "denied>100pp", "denied<-100pp", "denied<-NaNpp", "deny>5pp", "result>5pp", "denied:s>5pp", "denied@>5pp", "denied5pp",
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
		if err == nil && ((quantiles[got.Name] > 0) != (got.Stage != "") || !(got.Limit >= 0)) {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

// A row exceeds a threshold only with its whole interval.
func TestExceed(t *testing.T) {
	before, after := example(t)
	decide(after.Groups.At(0), func(_ int, n uint64) [6]uint64 { return [6]uint64{n - n*3/10, n * 3 / 10} })
	tests := []struct {
		text             string
		exceeded, judged int
	}{
		{"p50:rego_query_eval>+20%", 1, 5},
		{"p50:rego_query_eval>+95%", 0, 5}, // a's p50 is twice as high, except for noise
		{"p90:rego_query_eval@a>+20%", 1, 1},
		{"p50:rego_query_eval@d>+20%", 0, 0}, // 9 times, but of 7 slices
		{"p50:misspelt>+20%", 0, 0},
		{"p50:rego_query_eval@b<-20%", 1, 1},
		{"denied>+20pp", 1, 5},
		{"denied>+31pp", 0, 5},   // by 30 points
		{"denied@c>+1pp", 0, 1},  // none is denied
		{"denied@d>+20pp", 0, 0}, // 7 slices
		{"allowed<-20pp", 1, 5},
	}
	for _, tt := range tests {
		threshold, err := ParseThreshold(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		c := compareOf(t, before, after, threshold)
		rows, judged := c.Exceed(threshold)
		if len(rows) != tt.exceeded || judged != tt.judged {
			t.Errorf("%s: %d of %d rows, want %d of %d", tt.text, len(rows), judged, tt.exceeded, tt.judged)
		}
	}
	wide := Change{"denied", 0.1, 0.2, 0.1, -0.3, 0.5, TooLittle}
	c := Comparison{Decisions: []Row{{Changes: []Change{wide}}}}
	if rows, judged := c.Exceed(Threshold{Name: "denied", Limit: 0.05}); len(rows) != 0 || judged != 1 {
		t.Errorf("a wide interval: %d of %d rows", len(rows), judged)
	}
}
