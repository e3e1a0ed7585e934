// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Numbers are valid until Forget, also those of an event that another one comes
// before.
func TestForget(t *testing.T) {
	t.Parallel()
	event := func(n int) string {
		return fmt.Sprintf(`{"decision_id":"%d","labels":{},"metrics":{"timer_a_ns":%d,"counter_%d":%d},"path":"p"}`, n, n, n%3, n)
	}
	var text strings.Builder
	for n := range 50 {
		if n%5 == 0 { // is given up once the next event is parsed
			text.WriteString("2026-01-02T03:04:05.6Z stdout P " + event(n) + "\n")
		} else {
			text.WriteString(event(n) + "\n")
		}
	}
	var names, got []string // names by number
	first := 0              // number that is valid
	var r *Reader
	r = NewReader(Options{
		Metric: func(key []byte) int32 {
			names = append(names, string(key))
			return int32(len(names) - 1)
		},
		Event: func(e *Event) {
			d := string(e.DecisionID)
			for _, m := range e.Measures {
				if int(m.Metric) < first {
					t.Errorf("event %s has number %d, which was forgotten", e.DecisionID, m.Metric)
				}
				d += fmt.Sprintf(" %s=%d", names[m.Metric], m.Value)
			}
			got = append(got, d)
			if forgets := len(got)%5 == 1; forgets { // which came when the next one had been parsed
				first = len(names)
				r.Forget()
			}
		},
		Problem: func(kind Problem, line int64) { t.Errorf("%s in line %d", kind, line) },
	})
	r.Close([]byte(text.String()))
	var want []string
	for n := range 50 {
		want = append(want, fmt.Sprintf("%d timer_a_ns=%d counter_%d=%d", n, n, n%3, n))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
