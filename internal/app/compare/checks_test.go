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
	o := Options{}
	for _, text := range []string{"p50:rego_query_eval>+20%", "p50:rego_query_eval>+95%", "p50:missing>+1%"} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Thresholds = append(o.Thresholds, threshold)
	}
	c, err := Reports(before, after, o)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Checks()
	for i, want := range []struct {
		failed bool
		text   string
	}{{true, "a, rego_query_eval: p50 went from "}, {false, ""}, {true, "no row with enough data"}, {false, "a, rego_query_eval: p50 went from "}} {
		text := strings.Join(got[i].Texts, "\n")
		if got[i].Failed != want.failed || !strings.Contains(text, want.text) || (want.text == "") != (text == "") {
			t.Errorf("%s: failed %t, %q", got[i].Name, got[i].Failed, text)
		}
	}
	if len(got) != 4 || got[3].Name != "slower" {
		t.Errorf("there are %d checks", len(got))
	}
}
