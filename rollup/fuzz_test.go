// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// FuzzAdd adds arbitrary metrics: nothing panics, the counts add up, and a
// merge loses nothing.
func FuzzAdd(f *testing.F) {
	f.Add("a/b", uint8(0), `{"timer_server_handler_ns":100,"timer_rego_query_eval_ns":40,"counter_c":3}`)
	f.Add("", uint8(4), `{"timer__ns":0,"counter_":-1,"timer_other_ns":1e3,"histogram_h":{"count":1}}`)
	f.Add("other", uint8(9), `{"timer_server_handler_ns":9223372036854775807,"timer_rego_input_parse_ns":9223372036854775807}`)
	f.Add("\xff", uint8(1), `{"timer_server_handler_ns":-9223372036854775808,"timer_\ud800_ns":1.5,"counter_x":null}`)
	f.Add("p", uint8(2), `{"timer_eval_op_plug_ns":5,"timer_rego_query_eval_ns":3,"timer_timer__ns_ns":2}`)
	f.Fuzz(func(t *testing.T, path string, number uint8, text string) {
		var m, n map[string]any
		if json.Unmarshal([]byte(text), &m) != nil {
			t.Skip()
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		if d.Decode(&n) != nil {
			t.Skip()
		}
		r := newRollup(t, rollup.Options{Paths: 2})
		for _, p := range []string{path, path + "/x", "x/" + path, path} {
			r.Add(rollup.Decision{Path: p, Outcome: outcome.Outcome(number), Code: path, Metrics: m})
			r.Add(rollup.Decision{Path: p, Outcome: outcome.Outcome(number), Metrics: n})
		}
		timers := 0
		for key, value := range n {
			name, isTimer := strings.CutPrefix(key, "timer_")
			number, isNumber := value.(json.Number)
			if _, err := strconv.ParseInt(string(number), 10, 64); isTimer && strings.HasSuffix(name, "_ns") && isNumber && err == nil {
				timers++
			}
		}

		var s rollup.Snapshot
		r.Snapshot(&s)
		decisions, samples := uint64(0), uint64(0)
		for i := range s.Paths {
			p := &s.Paths[i]
			if !utf8.ValidString(p.Label) || p.Label == "" {
				t.Errorf("the label of a path is %q", p.Label)
			}
			for _, n := range p.Outcomes() {
				decisions += n
			}
		}
		for i := range s.Stages {
			st := &s.Stages[i]
			if !utf8.ValidString(st.Stage) || st.Stage == "" {
				t.Errorf("the label of a stage is %q", st.Stage)
			}
			samples += st.Histogram.Count() + st.Histogram.Negatives()
			for _, n := range st.Unfinished() {
				samples += n
			}
			if hi, lo := st.Histogram.Sum(); hi == 0 && st.Self > lo {
				t.Errorf("the self time is %d, want %d or less", st.Self, lo)
			}
		}
		if decisions != 8 {
			t.Errorf("there are %d decisions, want 8", decisions)
		}
		if samples < 4*uint64(timers) { // as float64, more or fewer of them are integers
			t.Errorf("there are %d samples, want %d or more", samples, 4*timers)
		}
		merged := newRollup(t, rollup.Options{Paths: 2})
		if err := merged.Merge(&s); err != nil {
			t.Fatal(err)
		}
		c := snapshotOf(merged)
		if got, want := numbersOf(c), numbersOf(&s); !maps.Equal(got, want) || c.Overflow != s.Overflow {
			t.Errorf("after a merge there are %v, want %v", got, want)
		}
	})
}
