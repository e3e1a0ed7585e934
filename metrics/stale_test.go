// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

// TestMarshalIsNeverStale interleaves updates of every kind with marshals, on
// several collections at once, and compares each marshal with All.
func TestMarshalIsNeverStale(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { staleProgram(t, seed) })
		})
	}
}

func staleProgram(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	collections := []metrics.Metrics{metrics.New(), metrics.New(), metrics.New()}
	name := func() string { return fmt.Sprint("name ", rng.IntN(4+int(seed)*3)) }
	for range 600 {
		m := collections[rng.IntN(len(collections))]
		switch rng.IntN(16) {
		case 0, 1, 2:
			m.Histogram(name()).Update(rng.Int64N(1000))
		case 3:
			// A value that leaves most of a summary as it was.
			m.Histogram(name()).Update(500)
		case 4:
			h := m.Histogram(name())
			for range rng.IntN(700) {
				h.Update(rng.Int64() >> rng.IntN(64))
			}
		case 5:
			// Over the reservoir's size at one go, with new priorities.
			h := m.Histogram(name())
			time.Sleep(time.Minute)
			for range 1100 {
				h.Update(rng.Int64N(3))
			}
		case 6, 7:
			m.Counter(name()).Incr()
		case 8:
			// Back to a value that the counter had before.
			c := m.Counter(name())
			was := c.Value().(uint64)
			c.Add(math.MaxUint64 - was + uint64(rng.IntN(3)))
		case 9:
			// There and back between two marshals: no change.
			c := m.Counter(name())
			c.Add(5)
			c.Add(math.MaxUint64 - 4)
		case 10, 11:
			m.Timer(name()).Start()
			time.Sleep(time.Duration(rng.IntN(3)))
		case 12, 13:
			m.Timer(name()).Stop()
		case 14:
			// Look-ups alone make metrics appear.
			m.Histogram(name())
			m.Counter(name() + name())
		case 15:
			if rng.IntN(8) == 0 {
				m.Clear()
			}
		}
		for range rng.IntN(3) {
			checkJSON(t, collections[rng.IntN(len(collections))])
		}
	}
	for _, m := range collections {
		checkJSON(t, m)
	}
}

// TestMarshalOfFullReservoir marshals after each single update of a reservoir
// that is full, so that most updates change nothing but the count.
func TestMarshalOfFullReservoir(t *testing.T) {
	m := metrics.New()
	h := m.Histogram("h")
	for i := range int64(1020) {
		h.Update(i * i)
	}
	for i := range int64(200) {
		h.Update(-i)
		checkJSON(t, m)
	}
	for range 20_000 {
		h.Update(7)
	}
	for range 200 {
		h.Update(7)
		checkJSON(t, m)
	}
}

// TestMarshalAfterClear: what was marshalled before a Clear does not come back.
func TestMarshalAfterClear(t *testing.T) {
	m := metrics.New()
	for i := range 4 {
		checkJSON(t, m)
		checkJSON(t, m)
		m.Counter("c").Add(300)
		m.Histogram("h").Update(300)
		checkJSON(t, m)
		checkJSON(t, m)
		m.Clear()
		if i%2 == 0 {
			checkJSON(t, m)
		}
		// The same names, the same number of metrics, the same values.
		m.Counter("c").Add(300)
		m.Histogram("h").Update(400)
		checkJSON(t, m)
		m.Clear()
	}
}
