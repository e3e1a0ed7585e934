// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"encoding/json"
	"math"
	"testing"
)

func TestInteger(t *testing.T) {
	t.Parallel()
	type named int16
	type unsigned uint64
	for _, test := range []struct {
		value any
		want  int64
		ok    bool
	}{
		{int64(-3), -3, true},
		{uint64(math.MaxInt64), math.MaxInt64, true},
		{uint64(math.MaxInt64 + 1), 0, false},
		{int8(-7), -7, true},
		{uint32(7), 7, true},
		{named(5), 5, true},
		{unsigned(math.MaxInt64 + 1), 0, false},
		{float32(5), 5, true},
		{5.0, 5, true},
		{5.5, 0, false},
		{float64(math.MinInt64), math.MinInt64, true},
		{9223372036854774784.0, 9223372036854774784, true},
		{float64(1 << 63), 0, false},
		{math.NaN(), 0, false},
		{math.Inf(-1), 0, false},
		{json.Number("9223372036854775807"), math.MaxInt64, true},
		{json.Number("9223372036854775808"), 0, false},
		{json.Number("1.2e3"), 1200, true},
		{json.Number("9007199254740991.0"), 1<<53 - 1, true},
		{json.Number("9007199254740992.0"), 0, false}, // 2⁵³, or 2⁵³+1 rounded
		{json.Number("1e18"), 0, false},
		{json.Number("x"), 0, false},
		{"5", 0, false},
		{nil, 0, false},
		{[]any{}, 0, false},
	} {
		n, ok := integer(test.value)
		if ok != test.ok || ok && n != test.want {
			t.Errorf("%T %v: the integer is %d, %v, want %d, %v", test.value, test.value, n, ok, test.want, test.ok)
		}
	}
}
