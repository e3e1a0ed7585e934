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
		text     string
		exceeded int // -1 if no row is judged
	}{
		{"p50:rego_query_eval>+20%", 1},
		{"p50:rego_query_eval>+95%", 0}, // a's p50 is twice as high, except for noise
		{"p90:rego_query_eval@a>+20%", 1},
		{"p50:rego_query_eval@d>+20%", -1}, // 9 times, but of 7 slices
		{"p50:misspelt>+20%", -1},
		{"p50:rego_query_eval@b<-20%", 1},
		{"denied>+20pp", 1},
		{"denied>+31pp", 0},    // by 30 points
		{"denied@c>+1pp", 0},   // none is denied
		{"denied@d>+20pp", -1}, // 7 slices
		{"allowed<-20pp", 1},
	}
	for _, tt := range tests {
		threshold, err := ParseThreshold(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		c := compareOf(t, before, after, threshold)
		check := c.Checks(nil)[0]
		exceeded := len(check.Texts)
		if exceeded == 1 && strings.HasPrefix(check.Texts[0], "no row") {
			exceeded = -1
		}
		if exceeded != tt.exceeded || check.Failed != (exceeded != 0) {
			t.Errorf("%s: %d rows, want %d: %+v", tt.text, exceeded, tt.exceeded, check)
		}
	}
	wide := Change{"denied", 0.1, 0.2, 0.1, -0.3, 0.5, TooLittle}
	c := Comparison{Decisions: []Row{{Changes: []Change{wide}}}, Thresholds: []Threshold{{Name: "denied", Limit: 0.05}}}
	if check := c.Checks(nil)[0]; check.Failed {
		t.Errorf("a wide interval: %+v", check)
	}
}
