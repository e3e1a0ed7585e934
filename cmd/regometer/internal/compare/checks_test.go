// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strings"
	"testing"
)

// A threshold is a check that fails if it is exceeded, or cannot be judged.
func TestChecks(t *testing.T) {
	before, after := example(t)
	decide(after.Groups.At(0), func(_ int, n uint64) [6]uint64 { return [6]uint64{n - n*3/10, n * 3 / 10} })
	o := Options{}
	for _, text := range []string{"p50:rego_query_eval>+20%", "p50:rego_query_eval>+95%", "p50:missing>+1%", "denied>+20pp"} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Thresholds = append(o.Thresholds, threshold)
	}
	got := compareOf(t, before, after, o).Checks(nil)
	for i, want := range []struct {
		failed bool
		text   string
	}{{true, "a, rego_query_eval: p50 went from "}, {false, ""}, {true, "no row has this name and enough data"}, {true, "a: denied went from 0 % to 30.0 %, by +30.0 pp ("},
		{false, " before, "}, {false, "a: allowed went from 100 % to 70.0 %, by -30.0 pp ("}, {false, "a, rego_query_eval: p50 went from "}} {
		text := strings.Join(got[i].Texts, "\n")
		if got[i].Failed != want.failed || !strings.Contains(text, want.text) || (want.text == "") != (text == "") {
			t.Errorf("%s: failed %t, %q", got[i].Name, got[i].Failed, text)
		}
	}
	if len(got) != 7 || got[6].Name != "slower" {
		t.Errorf("there are %d checks", len(got))
	}
}
