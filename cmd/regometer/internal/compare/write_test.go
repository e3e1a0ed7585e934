// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shown is a comparison that has something of everything.
func shown() *Comparison {
	inf := math.Inf(1)
	thresholds := []Threshold{
		{Text: "p99:rego_query_eval>+20%", Name: "p99", Stage: "rego_query_eval", Limit: 0.2},
		{Text: "p99.9:rego_query_eval@rbac/allow>20%", Name: "p99.9", Stage: "rego_query_eval", Key: "rbac/allow", Limit: 0.2},
		{Text: "p50:nothing>+7.5%", Name: "p50", Stage: "nothing", Limit: 0.075},
		{Text: "allowed<-5pp", Name: "allowed", Below: true, Limit: 0.05},
	}
	return &Comparison{
		By: "path", Intervals: 11, Thresholds: thresholds,
		Decisions: []Row{
			{
				Key: "rbac/allow", Before: Side{120_000, 60}, After: Side{130_000, 65}, Verdict: Changed, Impact: 65_000,
				Changes: []Change{
					{"allowed", 0.8, 0.3, -0.5, -0.514, -0.4861, Fewer},
					{"denied", 0.2, 0.69974, 0.49974, 0.4859, 0.5142, More},
					{"error", 0, 0.00026, 0.00026, 0.00004, 0.00048, More},
				},
			},
			{
				Key: "library/" + strings.Repeat("very_long/", 9) + "path", Verdict: Noise,
				Changes: []Change{{"other", 1, 1, 0, -0.0002, 0.0001, Noise}, {"error", 0.002, 0.004, 0.002, -0.001, 0.005, Noise}},
			},
			{Key: "rare", Verdict: TooLittle, Changes: []Change{{"undefined", 0, 1, 1, -1, 1, TooLittle}}},
		},
		Stages: []Row{
			{
				Key: "rbac/allow", Stage: "rego_query_eval", Before: Side{120_000, 60}, After: Side{130_000, 65},
				Changes: []Change{
					{"p50", 1_204_567, 1_455_555, 0.20837, 0.12121, 0.30252, Slower},
					{"p99", 8_100_000, 20_250_000, 1.5, 1.01, 2.25, Slower},
					{"p99.9", 81e6, 202e6, 1.5, 0.1, inf, Slower},
				},
				Verdict: Slower, Impact: 32_123_456_789,
			},
			{
				Key: "library/" + strings.Repeat("very_long/", 9) + "path", Stage: "server_handler",
				Changes: []Change{
					{"p50", 900, 450, -0.5, -0.6, -0.4, Faster},
					{"p99", 5e9, 5.1e9, 0.02, -0.00001, 0.04, Noise},
				},
				Verdict: Faster, Impact: -5_000_000,
			},
			{
				Key: "a\x1b[31m|`b`\n<i>é", Stage: "rego_query_eval",
				Changes: []Change{
					{"p50", 100, 100, 0, -0.05, 0.08, Noise},
					{"p99", 999.4, 999.6, 0.0002, -1, inf, TooLittle},
				},
				Verdict: Noise,
			},
			{Key: "rare", Stage: "server_handler", Verdict: TooLittle, Changes: []Change{{"p50", 100, 900, 8, -1, inf, TooLittle}}},
		},
		Only: []Only{{"old/path", "", 5, 0}, {"rbac/allow", "rego_builtin_http_send", 0, 7}, {"rbac/all", "", 0, 1}},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestWrite(t *testing.T) {
	c := shown()
	for name, write := range map[string]func(w io.Writer) error{
		"table-120.golden": func(b io.Writer) error { return output.Write(b, c, output.Options{Width: 120}) },
		"table-top.golden": func(b io.Writer) error { return output.Write(b, c, output.Options{Top: 2}) },
		"markdown.golden":  func(b io.Writer) error { return output.Write(b, c, output.Options{Format: "markdown"}) },
		"junit.golden":     func(b io.Writer) error { return output.Write(b, c, output.Options{Format: "junit"}) },
		"json.golden":      func(b io.Writer) error { return c.WriteJSON(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Error(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestSummary: that nothing changed is said only if all could be judged.
func TestSummary(t *testing.T) {
	row := func(v Verdict, changes ...Verdict) Row {
		r := Row{Verdict: v}
		for _, v := range changes {
			r.Changes = append(r.Changes, Change{Verdict: v})
		}
		return r
	}
	same, few, mixed := row(Noise, Noise), row(TooLittle, TooLittle), row(Noise, Noise, TooLittle)
	for _, tt := range []struct {
		want string
		c    Comparison
	}{
		{"The two sides have no path in common.", Comparison{By: "path"}},
		{"Decisions changed in 1 of 2 paths. A side could be read only in part, and what is missing may be what differs.", Comparison{By: "path", Partly: true, Decisions: []Row{row(Changed, Noise, More), few}}},
		{"Decisions changed in 1 of 2 paths.", Comparison{By: "path", Decisions: []Row{row(Changed, Noise, More), few}}},
		{"No change of decisions found in 1 path. Only before: 1 path with 7 decisions: `a`. Only after: 2 paths with 5 decisions: `c`, `d`. A side could be read only in part, and what is missing may be what differs.", Comparison{By: "path", Partly: true, Decisions: []Row{same},
			Only: []Only{{Key: "a", Before: 7}, {Key: "c", After: 2}, {Key: "d", After: 3}}}},
		{"The outcomes of decisions did not change beyond noise in 1 group. Times of 1 stage: 1 faster.", Comparison{By: "hour", Decisions: []Row{same}, Stages: []Row{row(Faster)}}},
		{"No change of decisions found in 1 path. A side could be read only in part, and what is missing may be what differs.", Comparison{By: "path", Partly: true, Decisions: []Row{same}}},
		{"No change of decisions found in 1 of 2 paths, and too little data in the rest.", Comparison{By: "path", Decisions: []Row{same, mixed}}},
		{"There is too little data to say whether decisions changed.", Comparison{By: "path", Decisions: []Row{few, mixed}}},
	} {
		if got := tt.c.summary(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
