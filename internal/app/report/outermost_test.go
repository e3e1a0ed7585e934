// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/regometer/regometer/rollup"
)

func TestOutermost(t *testing.T) {
	handler, decision := stageOf("server_handler", 5), stageOf("sdk_decision_eval", 6)
	short, long := stageOf("rego_query_parse", 3), stageOf("rego_query_eval", 2, 2)
	same, zero := stageOf("timer_x", 1, 3), stageOf("zero", 0)
	none := rollup.GroupStage{Name: "server_handler", Unfinished: 3}
	for _, c := range []struct {
		stages []rollup.GroupStage
		want   string
	}{
		{nil, ""},
		{[]rollup.GroupStage{none}, ""},
		{[]rollup.GroupStage{none, zero}, "zero"},
		{[]rollup.GroupStage{long, decision, handler}, "server_handler"},
		{[]rollup.GroupStage{none, long, decision}, "sdk_decision_eval"},
		{[]rollup.GroupStage{short, long, none}, "rego_query_eval"},
		{[]rollup.GroupStage{long, short}, "rego_query_eval"},
		{[]rollup.GroupStage{same, long}, "timer_x"},
		{[]rollup.GroupStage{long, same}, "rego_query_eval"},
		{[]rollup.GroupStage{stageOf("large", 1<<63-1, 1<<63-1, 1<<63-1), stageOf("small", 1<<63-1)}, "large"},
	} {
		got := ""
		s := Outermost(c.stages)
		if s != nil {
			got = s.Name
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if s != nil {
			s.Unfinished = 99
			for _, of := range c.stages {
				if of.Name == got && of.Unfinished == 99 {
					got = ""
				}
			}
			if got != "" {
				t.Errorf("%s is none of the stages given", got)
			}
		}
	}
	known := map[string]bool{}
	for _, s := range rollup.DefaultStages() {
		known[s.Name] = true
	}
	for _, name := range wholes {
		if !known[name] {
			t.Errorf("%s is no stage", name)
		}
	}
}
