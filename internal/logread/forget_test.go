// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"testing"
)

// Numbers are valid until Forget, also those of an event that another one comes
// before.
func TestForget(t *testing.T) {
	t.Parallel()
	var text []byte
	for n := range 50 {
		if n%5 == 0 { // is given up once the next event is parsed
			text = append(text, "2026-01-02T03:04:05.6Z stdout P "...)
		}
		text = fmt.Appendf(text, `{"decision_id":"%d","labels":{},"metrics":{"timer_a_ns":%d,"counter_%d":%d},"path":"p"}`+"\n", n, n, n%3, n)
	}
	var names []string    // by number
	events, first := 0, 0 // the first number that is valid
	var r *Reader
	r = NewReader(Options{
		Metric: func(key []byte) int32 {
			names = append(names, string(key))
			return int32(len(names) - 1)
		},
		Event: func(e *Event) {
			got := string(e.DecisionID)
			for _, m := range e.Measures {
				if int(m.Metric) < first {
					t.Errorf("event %s has number %d, which was forgotten", e.DecisionID, m.Metric)
				}
				got += fmt.Sprintf(" %s=%d", names[m.Metric], m.Value)
			}
			if want := fmt.Sprintf("%d timer_a_ns=%d counter_%d=%d", events, events, events%3, events); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if events++; events%5 == 1 { // which came when the next one had been parsed
				first = len(names)
				r.Forget()
			}
		},
		Problem: func(kind Problem, line int64) {
			if kind != WrapperTime || line%5 != 1 {
				t.Errorf("%s in line %d", kind, line)
			}
		},
	})
	if r.Close(text); events != 50 {
		t.Errorf("%d events, want 50", events)
	}
}
