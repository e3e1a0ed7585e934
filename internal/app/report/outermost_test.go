// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/regometer/regometer/internal/groupby"
)

func TestOutermost(t *testing.T) {
	handler, decision := stageOf("server_handler", 5), stageOf("sdk_decision_eval", 6)
	short, long := stageOf("rego_query_parse", 3), stageOf("rego_query_eval", 2, 2)
	same, zero := stageOf("timer_x", 1, 3), stageOf("zero", 0)
	none := groupby.Stage{Name: "server_handler", Unfinished: 3}
	for _, c := range []struct {
		stages []groupby.Stage
		want   string
	}{
		{nil, ""},
		{[]groupby.Stage{none}, ""},
		{[]groupby.Stage{none, zero}, "zero"},
		{[]groupby.Stage{long, decision, handler}, "server_handler"},
		{[]groupby.Stage{none, long, decision}, "sdk_decision_eval"},
		{[]groupby.Stage{short, long, none}, "rego_query_eval"},
		{[]groupby.Stage{long, short}, "rego_query_eval"},
		{[]groupby.Stage{same, long}, "timer_x"},
		{[]groupby.Stage{long, same}, "rego_query_eval"},
		{[]groupby.Stage{stageOf("large", 1<<63-1, 1<<63-1, 1<<63-1), stageOf("small", 1<<63-1)}, "large"},
	} {
		got := ""
		if s := Outermost(c.stages); s != nil {
			got = s.Name
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
