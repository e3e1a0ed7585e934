// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/metrics"
)

// OPA's JSON is the JSON of All, byte by byte, also with a step that writes it
// in another way. Percentiles between a negative and a positive value may be so
// close to 0 that encoding/json writes an exponent.
func TestOPAMarshalsAll(t *testing.T) {
	check := func(values []int64) {
		t.Helper()
		m := opa.New()
		m.Counter("c").Add(uint64(len(values)))
		for _, v := range values {
			m.Histogram("h").Update(v)
		}
		got, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(m.All())
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("%v: got\n%s\nwant\n%s", values, got, want)
		}
	}
	check([]int64{-9, -9, -9, -9, -9, -9, -9, -9, -9, 1})
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for range 2000 {
		values := make([]int64, rng.IntN(50))
		bits := rng.IntN(64)
		for i := range values {
			values[i] = int64(rng.Uint64()) >> bits
		}
		check(values)
	}
}
