// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/regometer/regometer/metrics"
)

// noOpBehaviours are the rules for a collection that records nothing.
var noOpBehaviours = []behaviour{
	{
		name: "nothing is recorded",
		rule: "The Value of timers and counters is the int 0, and of histograms nil. Stop returns 0, and All returns nil. All handles of a kind are equal.",
		check: func(s *script) {
			for range 2 {
				timer, c, h := s.Timer("x"), s.Counter("x"), s.Histogram("x")
				if timer != s.Timer("y") || c != s.Counter("y") || h != s.Histogram("y") {
					s.Error("two look-ups of a kind returned different handles")
				}
				timer.Start()
				sleep(5)
				c.Incr()
				c.Add(5)
				h.Update(5)
				got := []any{timer.Stop(), timer.Int64(), timer.Value(), c.Value(), h.Value()}
				if want := []any{int64(0), int64(0), 0, 0, nil}; !reflect.DeepEqual(got, want) {
					s.Errorf("the values are %#v, want %#v", got, want)
				}
				if all := s.All(); all != nil {
					s.Errorf("All is %v, want nil", all)
				}
				s.Clear()
			}
		},
	},
	{
		name: "one instance",
		rule: `All calls return equal collections, which have no String or Timers method. The JSON is {"name": "<built-in no-op>"}, which the caller owns. Info has this name.`,
		check: func(s *script) {
			_, isStringer := s.unwrap().(fmt.Stringer)
			_, hasTimers := s.unwrap().(metrics.TimerMetrics)
			if isStringer || hasTimers || s.unwrap() != s.another().unwrap() {
				s.Errorf("the two collections differ, or the first has a String method (%t) or a Timers method (%t)", isStringer, hasTimers)
			}
			for range 2 {
				b, err := s.MarshalJSON()
				if err != nil || string(b) != `{"name": "<built-in no-op>"}` {
					s.Errorf("MarshalJSON returned %s (error %v)", b, err)
				}
				clear(b)
			}
			if b, err := json.Marshal(s.info()); err != nil || string(b) != `{"name":"\u003cbuilt-in no-op\u003e"}` {
				s.Errorf("the JSON of Info is %s (error %v)", b, err)
			}
		},
	},
}
