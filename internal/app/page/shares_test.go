// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"testing"

	"github.com/regometer/regometer/internal/app/sum"
)

// TestShareBars: the lengths of the bars are the stages' shares of the time.
func TestShareBars(t *testing.T) {
	r := example()
	stages := r.Total.ByTime()
	length := func(d string) float64 {
		var left, right, y float64
		if _, err := fmt.Sscanf(d, "M%f,%fL%f,%fL%f,", &left, &y, &left, &y, &right); err != nil {
			t.Fatalf("%q: %v", d, err)
		}
		return right - left
	}
	var whole float64
	drawn := 0
	for path := range elements(byID(t, parsed(t, written(t, r)), "share"), "path") {
		switch got := length(attribute(path, "d")); attribute(path, "class") {
		case "i-grid":
			whole = got
		case "i-share":
			want := sum.Float(stages[drawn%len(stages)].Self) / sum.Float(r.Total.Time)
			if math.Abs(got/whole-want) > 0.002 {
				t.Errorf("%s: %v of %v, want a share of %v", stages[drawn%len(stages)].Name, got, whole, want)
			}
			drawn++
		}
	}
	if drawn != 2*len(stages) {
		t.Errorf("%d bars of %d stages, want two each", drawn, len(stages))
	}
}
